import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { workerEntry } from "../../registry/worker-entry.ts";
import type { ChatTemplateOptions, Tokenizer } from "../tokenizer.ts";
import { LengthCache } from "./length-cache.ts";
import {
  faultError,
  measureChunk,
  packChunk,
  type ChunkFault,
  type ChunkResult,
  type Prompt,
} from "./measure-chunk.ts";
import type { HostData } from "./prompt-host.ts";

export interface MeasureOptions {
  /** Further variables of the chat template. */
  variables?: ChatTemplateOptions;
  /** Threads; null: one a core. Fewer prompts than {@link FEW} are measured in this thread. */
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
    packChunk(prompts.slice(index * CHUNK, (index + 1) * CHUNK)),
  );
  const cache = await LengthCache.open(tokenizer, variables, chunks);
  const known = await cache?.read(prompts.length);
  if (known !== undefined) return known;

  const lengths = new Int32Array(prompts.length);
  const faults: ChunkFault[] = [];
  let [next, done] = [0, 0];
  const work = async (): Promise<void> => {
    const host = new Host({ source, variables });
    try {
      // After a fault nothing new is begun; chunks before it are finished, so that the first prompt at fault is named.
      while (next < chunks.length && faults.length === 0) {
        const index = next++;
        const result = await host.measure(chunks[index]!);
        if ("fault" in result) {
          faults.push({ ...result.fault, at: result.fault.at + index * CHUNK });
          return;
        }
        lengths.set(result.lengths, index * CHUNK);
        onProgress?.((done += result.lengths.length), prompts.length);
      }
    } finally {
      await host.end();
    }
  };
  const threads = Math.min(workers ?? availableParallelism(), chunks.length);
  await Promise.all(Array.from({ length: threads }, work));
  const [first] = faults.sort((a, b) => a.at - b.at);
  if (first !== undefined) throw fault(first.at, faultError(first));
  await cache?.write(lengths);
  return lengths;
}

/** The same in this thread, at once. */
export function measureHere(
  tokenizer: Tokenizer,
  prompts: readonly Prompt[],
  { variables = {}, fault }: Pick<MeasureOptions, "variables" | "fault">,
): Int32Array {
  const result = measureChunk(tokenizer, prompts, variables);
  if ("fault" in result) throw fault(result.fault.at, faultError(result.fault));
  return result.lengths;
}

/** One thread, one chunk at a time. */
class Host {
  private readonly worker: Worker;
  private settle: { resolve: (result: ChunkResult) => void; reject: (error: Error) => void } | undefined;
  private ended: Error | undefined;

  constructor(data: HostData) {
    this.worker = new Worker(workerEntry(new URL("./prompt-host.ts", import.meta.url)), { workerData: data });
    this.worker.on("message", (result: ChunkResult) => this.settle?.resolve(result));
    this.worker.on("error", (error) => this.fail(error));
    this.worker.on("exit", (code) => this.fail(new Error(`A thread that measures prompts ended with code ${code}.`)));
  }

  measure(chunk: string): Promise<ChunkResult> {
    return new Promise((resolve, reject) => {
      this.settle = { resolve, reject };
      if (this.ended) reject(this.ended);
      else this.worker.postMessage(chunk);
    });
  }

  async end(): Promise<void> {
    this.settle = undefined;
    await this.worker.terminate();
  }

  private fail(error: Error): void {
    this.ended ??= error;
    this.settle?.reject(this.ended);
  }
}
