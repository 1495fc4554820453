import { isVerlError } from "../../errors/verl-error.ts";
import type { RowOrigin } from "../columns.ts";
import { maskConversation, type SftExample } from "../loss-mask.ts";
import type { ChatTemplateOptions, Tokenizer } from "../tokenizer.ts";
import { faultOf, type ChunkFault } from "./chunk-fault.ts";
import type { PackedPrompt } from "./measure-chunk.ts";

/** A conversation in a chunk's text. */
export type PackedConversation = readonly [...PackedPrompt, RowOrigin];

/** Examples one after another. */
export interface MaskedChunk {
  ids: Int32Array;
  lossMask: Uint8Array;
  /** Tokens of each. */
  lengths: Int32Array;
}

/** Tokenises conversations, the assistant's tokens marked. */
export function maskChunk(
  tokenizer: Tokenizer,
  conversations: readonly PackedConversation[],
  variables: ChatTemplateOptions,
): MaskedChunk | { fault: ChunkFault } {
  const examples: SftExample[] = [];
  for (const [at, [messages, tools, origin]] of conversations.entries()) {
    try {
      examples.push(maskConversation(tokenizer, messages, { ...variables, tools }, origin));
    } catch (error) {
      if (!isVerlError(error)) throw error;
      return { fault: faultOf(at, error) };
    }
  }
  const lengths = Int32Array.from(examples, ({ ids }) => ids.length);
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const [ids, lossMask] = [new Int32Array(total), new Uint8Array(total)];
  let end = 0;
  for (const example of examples) {
    ids.set(example.ids, end);
    lossMask.set(example.lossMask, end);
    end += example.ids.length;
  }
  return { ids, lossMask, lengths };
}

/** The examples of a chunk, as views. */
export function examplesOf({ ids, lossMask, lengths }: MaskedChunk): SftExample[] {
  let end = 0;
  return Array.from(lengths, (length) => {
    const start = end;
    end += length;
    return { ids: ids.subarray(start, end), lossMask: lossMask.subarray(start, end) };
  });
}
