import { createScorer, type PpoConfig, type ScoreFunctions, type Scorer } from "verl";
import { poolOf, type PoolSettings } from "./pool-options.ts";

export interface FunctionOptions extends PoolSettings {
  max_concurrent?: number;
}

/** What function-calling managers read of the config. */
export type FunctionConfig = { reward_model: Pick<PpoConfig["reward_model"], "timeout_s" | "num_workers"> };

/** Calls the run's score functions, here or in a pool. */
export const scorerOf = (functions: ScoreFunctions, options: FunctionOptions, config: FunctionConfig): Scorer =>
  createScorer([functions], {
    timeoutS: config.reward_model.timeout_s,
    maxConcurrent: options.max_concurrent ?? 1,
    pool: poolOf(options, config),
  });
