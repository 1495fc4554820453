import { isVerlError, VerlError } from "../../errors/verl-error.ts";
import { parseLosslessJson, stringifyLosslessJson } from "../lossless-json.ts";
import type { ChatMessage, ChatTemplateOptions, Tokenizer } from "../tokenizer.ts";

/** What goes through the chat template. */
export interface Prompt {
  messages: readonly ChatMessage[];
  tools: readonly Record<string, unknown>[];
}

/** The first prompt of a chunk that the template or the tokenizer refused. */
export interface ChunkFault {
  /** 0-based place in the chunk. */
  at: number;
  code?: VerlError["code"];
  message: string;
  hint?: string;
  details?: Record<string, unknown>;
}

export type ChunkResult = { lengths: Int32Array } | { fault: ChunkFault };

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
  prompts: readonly Prompt[],
  variables: ChatTemplateOptions,
): ChunkResult {
  const lengths = new Int32Array(prompts.length);
  for (const [at, prompt] of prompts.entries()) {
    try {
      lengths[at] = encodePrompt(tokenizer, prompt, variables).length;
    } catch (error) {
      if (!isVerlError(error)) throw error;
      const { code, message, hint, details } = error;
      return { fault: { at, code, message, hint, details } };
    }
  }
  return { lengths };
}

/** The error that a fault was, for whoever knows where the prompt came from. */
export function faultError({ code, message, hint, details }: ChunkFault): Error {
  return code === undefined ? new Error(message) : new VerlError(code, message, { hint, details });
}

/** Prompts as text, large integers kept: one form for threads and for hashes. */
export function packChunk(prompts: readonly Prompt[]): string {
  const plain = prompts.map(({ messages, tools }) => [messages, tools]);
  try {
    return JSON.stringify(plain);
  } catch {
    // It holds a bigint.
    return stringifyLosslessJson(plain);
  }
}

export function unpackChunk(text: string): Prompt[] {
  const plain = parseLosslessJson(text) as [Prompt["messages"], Prompt["tools"]][];
  return plain.map(([messages, tools]) => ({ messages, tools }));
}
