import { isVerlError } from "../../errors/verl-error.ts";
import type { ChatMessage, ChatTemplateOptions, Tokenizer } from "../tokenizer.ts";
import { faultOf, type ChunkFault } from "./chunk-fault.ts";

/** What goes through the chat template. */
export interface Prompt {
  messages: readonly ChatMessage[];
  tools: readonly Record<string, unknown>[];
}

/** Its form in a chunk's text. */
export type PackedPrompt = readonly [Prompt["messages"], Prompt["tools"]];

export const packPrompt = ({ messages, tools }: Prompt): PackedPrompt => [messages, tools];

/** Token ids of a prompt, ready to be answered. */
export function encodePrompt(
  tokenizer: Tokenizer,
  { messages, tools }: Prompt,
  variables: ChatTemplateOptions,
): Int32Array {
  return tokenizer.encodeChat(messages, { ...variables, tools, addGenerationPrompt: true });
}

/** Lengths in tokens. */
export function measureChunk(
  tokenizer: Tokenizer,
  prompts: readonly PackedPrompt[],
  variables: ChatTemplateOptions,
): { lengths: Int32Array } | { fault: ChunkFault } {
  const lengths = new Int32Array(prompts.length);
  for (const [at, [messages, tools]] of prompts.entries()) {
    try {
      lengths[at] = encodePrompt(tokenizer, { messages, tools }, variables).length;
    } catch (error) {
      if (!isVerlError(error)) throw error;
      return { fault: faultOf(at, error) };
    }
  }
  return { lengths };
}
