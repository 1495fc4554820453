import type { ClassEntry } from "../registry/entry.ts";
import type { WeightMap } from "./training-engine.ts";

export interface SamplingParams {
  /** 0 is greedy. */
  temperature: number;
  /** −1: off. */
  top_k: number;
  /** 1: off. */
  top_p: number;
  max_tokens: number;
  stop_token_ids: readonly number[];
  ignore_eos?: boolean;
  /** Same seed and prompt, same answer, whatever else is in the batch. */
  seed: number;
}

export interface Generation {
  /** Sampled ids, the stop token included. */
  ids: Int32Array;
  /** log-prob of each sampled id under the sampling distribution's temperature (no top-k/top-p renormalisation); same length as `ids`. */
  logprobs: Float32Array;
  stopReason: "stop" | "length" | "abort";
  /** Number of `updateWeights` calls before this answer was sampled. */
  weightVersion: number;
}

/** Samples from the model: tokens in, tokens out. Requests that arrive together are batched by the engine. */
export interface RolloutEngine {
  /**
   * @throws VERL_ROLLOUT_REQUEST, or an error with `status` 400, 413 or 422, for a request that every server would refuse, such as one with too
   * long a prompt. Any other error counts against the server: where there are several, the next requests go elsewhere for a while.
   */
  generate(
    promptIds: Int32Array,
    sampling: SamplingParams,
    options?: { signal?: AbortSignal; sticky?: string },
  ): Promise<Generation>;
  /** Replaces the weights; answers under way finish with the old ones. */
  updateWeights(weights: WeightMap): Promise<void>;
  readonly weightVersion: number;
  /** Ids of the model: all below it. Prompts and answers with others are refused before they are trained on. Default: not known. */
  readonly vocabSize?: number | undefined;
  /**
   * Gives memory back until `wake`, once the answers under way are complete: `weights`, `kv_cache` or both. Requests wait meanwhile.
   * The trainer lets the engine sleep while it trains, where `rollout.free_cache_engine` says so.
   */
  sleep(tags: readonly string[]): Promise<void>;
  /** Takes memory again. Weights that slept come by the next `updateWeights`, which follows `wake(["weights"])`. */
  wake(tags: readonly string[]): Promise<void>;
  /** Ends every request under way with `stopReason: "abort"`. */
  abort(): Promise<void>;
  dispose(): void;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    rollout: ClassEntry<RolloutEngine>;
  }
}
