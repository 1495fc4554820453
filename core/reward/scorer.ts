import { ScorePool, type PoolOptions } from "./pool/score-pool.ts";
import { callScore, type ScoreCall, type Scored } from "./score-call.ts";
import type { ScoreFunctions } from "./score-functions.ts";
import { Limiter } from "./service/limiter.ts";

/** Calls score functions, in this thread or in a pool that can end them; the results are the same. */
export interface Scorer {
  /** Readies the pool, so that what a function's file has wrong is known before the first step. */
  start(): Promise<void>;
  /** Results in the calls' order. Calls of several runs share the limit. */
  run(calls: readonly ScoreCall[], signal?: AbortSignal): Promise<Scored[]>;
  /** Ends the pool. */
  dispose(): Promise<void>;
}

export interface ScorerOptions {
  /** Seconds that a call may take (`reward_model.timeout_s`). */
  timeoutS: number;
  /** Calls under way at once in this thread. */
  maxConcurrent: number;
  /** Where the calls run; undefined: in this thread, where a function that never gives it back cannot be ended. */
  pool?: PoolOptions;
}

/** A scorer of these functions; a call names its function by the place in the list. */
export function createScorer(functions: readonly ScoreFunctions[], options: ScorerOptions): Scorer {
  const { timeoutS, maxConcurrent } = options;
  if (options.pool !== undefined) return new PooledScorer(new ScorePool(functions, options.pool, timeoutS));
  const places = new Limiter(maxConcurrent);
  const score = (call: ScoreCall, signal?: AbortSignal) =>
    places.run(() => callScore(functions[call.of]!, call, timeoutS, signal), signal);
  return {
    start: () => Promise.resolve(),
    run: (calls, signal) => Promise.all(calls.map((call) => score(call, signal))),
    dispose: () => Promise.resolve(),
  };
}

class PooledScorer implements Scorer {
  private started: Promise<void> | undefined;

  constructor(private readonly pool: ScorePool) {}

  start(): Promise<void> {
    return (this.started ??= this.pool.start());
  }

  async run(calls: readonly ScoreCall[], signal?: AbortSignal): Promise<Scored[]> {
    await this.start();
    return this.pool.run(calls, signal);
  }

  dispose(): Promise<void> {
    return this.pool.dispose();
  }
}
