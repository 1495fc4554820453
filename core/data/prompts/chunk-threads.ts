import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { workerEntry } from "../../registry/worker-entry.ts";
import type { ChunkFault } from "./chunk-fault.ts";
import type { HostData } from "./prompt-host.ts";

export interface ChunkWork<R extends object> {
  /** What the threads do, and with which tokenizer. */
  host: HostData;
  chunks: readonly string[];
  /** Threads; null: one a core. */
  workers?: number | null;
  /** Takes the result of a chunk, in any order. @param index of the chunk. */
  take: (result: R, index: number) => void;
}

/** A fault and the chunk that it is of. */
export interface FoundFault extends ChunkFault {
  chunk: number;
}

/**
 * Has chunks worked on in threads, each taking one at a time. After a fault nothing new is begun; what is under way is finished.
 * @returns the first fault in the chunks' order; undefined: there was none.
 */
export async function inThreads<R extends object>({
  host: data,
  chunks,
  workers = null,
  take,
}: ChunkWork<R>): Promise<FoundFault | undefined> {
  const faults: FoundFault[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    const host = new Host<R>(data);
    try {
      while (next < chunks.length && faults.length === 0) {
        const index = next++;
        const result = await host.ask(chunks[index]!);
        if ("fault" in result) {
          faults.push({ ...result.fault, chunk: index });
          return;
        }
        take(result, index);
      }
    } finally {
      await host.end();
    }
  };
  const threads = Math.min(workers ?? availableParallelism(), chunks.length);
  await Promise.all(Array.from({ length: threads }, work));
  return faults.sort((a, b) => a.chunk - b.chunk)[0];
}

type Answer<R> = R | { fault: ChunkFault };

/** One thread, one chunk at a time. */
class Host<R extends object> {
  private readonly worker: Worker;
  private settle: { resolve: (result: Answer<R>) => void; reject: (error: Error) => void } | undefined;
  private ended: Error | undefined;

  constructor(data: HostData) {
    this.worker = new Worker(workerEntry(new URL("./prompt-host.ts", import.meta.url)), { workerData: data });
    this.worker.on("message", (result: Answer<R>) => this.settle?.resolve(result));
    this.worker.on("error", (error) => this.fail(error));
    this.worker.on("exit", (code) => this.fail(new Error(`A thread that tokenises ended with code ${code}.`)));
  }

  ask(chunk: string): Promise<Answer<R>> {
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
