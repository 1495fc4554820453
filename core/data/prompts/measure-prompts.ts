import type { ChatTemplateOptions, Tokenizer } from "../tokenizer.ts";
import { faultError } from "./chunk-fault.ts";
import { packChunk } from "./chunk-text.ts";
import { inThreads } from "./chunk-threads.ts";
import { LengthCache } from "./length-cache.ts";
import { measureChunk, packPrompt, type Prompt } from "./measure-chunk.ts";

export interface MeasureOptions {
  /** Further variables of the chat template. */
  variables?: ChatTemplateOptions;
  /** Threads; null: one a core. Fewer prompts than 2,000 are measured in this thread. */
  workers?: number | null;
  /** Told how many prompts are measured. */
  onProgress?: (done: number, total: number) => void;
  /** Makes the error of a prompt that cannot be measured. @param at its place. */
  fault: (at: number, error: Error) => Error;
}

/** Up to so many prompts are measured faster than threads start. */
export const FEW = 2000;
/** Prompts that a thread takes at a time. */
const CHUNK = 500;

/**
 * Length in tokens of each prompt under the chat template, with its tools and the generation prompt. Many prompts are measured in
 * threads, and their lengths kept in a cache by content, so that the next run over the same data starts at once.
 */
export async function measurePrompts(
  tokenizer: Tokenizer,
  prompts: readonly Prompt[],
  { variables = {}, workers = null, onProgress, fault }: MeasureOptions,
): Promise<Int32Array> {
  const { source } = tokenizer;
  if (prompts.length < FEW || source === undefined) return measureHere(tokenizer, prompts, { variables, fault });

  const chunks = Array.from({ length: Math.ceil(prompts.length / CHUNK) }, (_, index) =>
    packChunk(prompts.slice(index * CHUNK, (index + 1) * CHUNK).map(packPrompt)),
  );
  const cache = await LengthCache.open(tokenizer, variables, chunks);
  const known = await cache?.read(prompts.length);
  if (known !== undefined) return known;

  const lengths = new Int32Array(prompts.length);
  let done = 0;
  const first = await inThreads<{ lengths: Int32Array }>({
    host: { work: "measure", source, variables },
    chunks,
    workers,
    take(result, index) {
      lengths.set(result.lengths, index * CHUNK);
      onProgress?.((done += result.lengths.length), prompts.length);
    },
  });
  if (first !== undefined) throw fault(first.chunk * CHUNK + first.at, faultError(first));
  await cache?.write(lengths);
  return lengths;
}

/** The same in this thread, at once. */
export function measureHere(
  tokenizer: Tokenizer,
  prompts: readonly Prompt[],
  { variables = {}, fault }: Pick<MeasureOptions, "variables" | "fault">,
): Int32Array {
  const result = measureChunk(tokenizer, prompts.map(packPrompt), variables);
  if ("fault" in result) throw fault(result.fault.at, faultError(result.fault));
  return result.lengths;
}
