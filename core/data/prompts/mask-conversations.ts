import type { RowOrigin } from "../columns.ts";
import { maskConversation, type SftExample } from "../loss-mask.ts";
import type { ChatTemplateOptions, Tokenizer } from "../tokenizer.ts";
import { withRow } from "../row-error.ts";
import { faultError } from "./chunk-fault.ts";
import { packChunk } from "./chunk-text.ts";
import { inThreads } from "./chunk-threads.ts";
import { examplesOf, type MaskedChunk, type PackedConversation } from "./mask-chunk.ts";
import type { Prompt } from "./measure-chunk.ts";

/** A conversation to imitate, and where it came from. */
export interface Conversation extends Prompt {
  origin: RowOrigin;
}

export interface MaskOptions {
  /** Further variables of the chat template. */
  variables?: ChatTemplateOptions;
  /** Threads; null: one a core. Fewer conversations than 1,000 are tokenised in this thread. */
  workers?: number | null;
  /** Told how many conversations are tokenised. */
  onProgress?: (done: number, total: number) => void;
}

/** Up to so many conversations are tokenised faster than threads start; each goes through the template several times. */
export const FEW_CONVERSATIONS = 1000;
/** Conversations that a thread takes at a time. */
const CHUNK = 200;

/**
 * Conversations tokenised, with the assistant's tokens marked ({@link maskConversation}); many of them in threads.
 * @throws VerlError of the first conversation that the template or the tokenizer refuses.
 */
export async function maskConversations(
  tokenizer: Tokenizer,
  conversations: readonly Conversation[],
  { variables = {}, workers, onProgress }: MaskOptions = {},
): Promise<SftExample[]> {
  const { source } = tokenizer;
  if (conversations.length < FEW_CONVERSATIONS || source === undefined) {
    return conversations.map((conversation) => maskHere(tokenizer, conversation, variables));
  }
  const packed = conversations.map(({ messages, tools, origin }): PackedConversation => [messages, tools, origin]);
  const chunks = Array.from({ length: Math.ceil(packed.length / CHUNK) }, (_, index) =>
    packChunk(packed.slice(index * CHUNK, (index + 1) * CHUNK)),
  );
  const examples = new Array<SftExample[]>(chunks.length);
  let done = 0;
  const first = await inThreads<MaskedChunk>({
    host: { work: "mask", source, variables },
    chunks,
    workers,
    take(result, index) {
      examples[index] = examplesOf(result);
      onProgress?.((done += result.lengths.length), conversations.length);
    },
  });
  if (first !== undefined) throw withRow(faultError(first), conversations[first.chunk * CHUNK + first.at]!.origin);
  return examples.flat();
}

/** One conversation in this thread. @throws VerlError naming the row. */
export function maskHere(
  tokenizer: Tokenizer,
  { messages, tools, origin }: Conversation,
  variables: ChatTemplateOptions,
): SftExample {
  try {
    return maskConversation(tokenizer, messages, { ...variables, tools }, origin);
  } catch (error) {
    throw withRow(error as Error, origin);
  }
}
