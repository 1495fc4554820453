import type { PackedError } from "../../controller/rank-protocol.ts";
import { unpackError } from "../../controller/packed-error.ts";
import type { Generation, RolloutEngine, SamplingParams } from "../../engine/rollout-engine.ts";
import { VerlError } from "../../errors/index.ts";

/** One prompt for an engine elsewhere. */
export interface RolloutRequest {
  /** Chosen by the client. */
  readonly id: number;
  readonly promptIds: Int32Array;
  readonly sampling: SamplingParams;
  readonly sticky?: string;
}

/** What a client asks for in one tick. */
export interface RolloutAsk {
  readonly requests: readonly RolloutRequest[];
  /** Ids of earlier requests whose answers may end where they are. */
  readonly cancelled: readonly number[];
}

/** What became of a request: its generation, or why there is none. */
export type RolloutAnswer =
  { readonly id: number; readonly generation: Generation } | { readonly id: number; readonly error: PackedError };

interface Pending {
  readonly resolve: (generation: Generation) => void;
  readonly reject: (error: unknown) => void;
  /** Stops following the request's signal. */
  readonly release: () => void;
}

/** A rollout engine that stands elsewhere: what is asked of it in one tick is sent together, so that it is one batch there too. */
export class RolloutClient implements RolloutEngine {
  /** Of the newest answer. */
  weightVersion = 0;
  private readonly pending = new Map<number, Pending>();
  private next = 0;
  private requests: RolloutRequest[] = [];
  private cancelled: number[] = [];
  private scheduled = false;

  constructor(private readonly send: (ask: RolloutAsk) => void) {}

  generate(
    promptIds: Int32Array,
    sampling: SamplingParams,
    { signal, sticky }: { signal?: AbortSignal; sticky?: string } = {},
  ): Promise<Generation> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      const cancel = (): void => this.cancel(id);
      const release = (): void => signal?.removeEventListener("abort", cancel);
      this.pending.set(id, { resolve, reject, release });
      this.requests.push({ id, promptIds, sampling, ...(sticky !== undefined && { sticky }) });
      if (signal?.aborted) cancel();
      else signal?.addEventListener("abort", cancel, { once: true });
      this.sendSoon();
    });
  }

  /** Takes answers. Those that nobody waits for any more are dropped. */
  settle(answers: readonly RolloutAnswer[]): void {
    for (const answer of answers) {
      const pending = this.pending.get(answer.id);
      this.pending.delete(answer.id);
      pending?.release();
      if ("error" in answer) pending?.reject(unpackError(answer.error));
      else {
        this.weightVersion = answer.generation.weightVersion;
        pending?.resolve(answer.generation);
      }
    }
  }

  /** Nothing will be answered any more. */
  fail(error: unknown): void {
    for (const { reject, release } of this.pending.values()) {
      release();
      reject(error);
    }
    this.pending.clear();
  }

  updateWeights(): Promise<void> {
    return Promise.reject(new VerlError("VERL_INTERNAL", "An engine elsewhere is given its weights by the trainer."));
  }

  /** The trainer lets it sleep. */
  sleep(): Promise<void> {
    return Promise.resolve();
  }

  wake(): Promise<void> {
    return Promise.resolve();
  }

  abort(): Promise<void> {
    for (const id of this.pending.keys()) this.cancel(id);
    return Promise.resolve();
  }

  dispose(): void {
    this.fail(new VerlError("VERL_INTERNAL", "The engine is disposed."));
  }

  private cancel(id: number): void {
    this.cancelled.push(id);
    this.sendSoon();
  }

  private sendSoon(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    // After every microtask of this tick, so that all agent loops that ask now are in one batch.
    setImmediate(() => {
      this.scheduled = false;
      const [requests, cancelled] = [this.requests, this.cancelled];
      [this.requests, this.cancelled] = [[], []];
      this.send({ requests, cancelled });
    });
  }
}
