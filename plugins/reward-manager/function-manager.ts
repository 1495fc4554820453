import {
  CONFIG,
  createScorer,
  inject,
  LOGGER,
  METRICS,
  OPTIONS,
  RewardManager,
  SCORE_FUNCTIONS,
  TOKENIZER,
  type Logger,
  type MetricsSink,
  type PpoConfig,
  type ScoreFunctions,
  type Scorer,
  type Tokenizer,
} from "verl";
import { poolOf, type PoolSettings } from "./pool-options.ts";

export interface FunctionOptions extends PoolSettings {
  max_concurrent?: number;
}

/** What function-calling managers read of the config. */
export type FunctionConfig = { reward_model: Pick<PpoConfig["reward_model"], "timeout_s" | "num_workers"> };

/** A manager that calls the run's score functions, here or in a pool. */
export abstract class FunctionRewardManager extends RewardManager {
  protected readonly scorer: Scorer;

  constructor(
    @inject(TOKENIZER) protected readonly tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) protected readonly functions: ScoreFunctions,
    @inject(OPTIONS) options: FunctionOptions,
    @inject(LOGGER) protected readonly log: Logger,
    @inject(CONFIG) config: FunctionConfig,
    @inject(METRICS) protected readonly metrics: MetricsSink,
  ) {
    super();
    this.scorer = createScorer([functions], {
      timeoutS: config.reward_model.timeout_s,
      maxConcurrent: options.max_concurrent ?? 1,
      pool: poolOf(options, config),
    });
  }

  override load(): Promise<void> {
    return this.scorer.start();
  }

  override dispose(): Promise<void> {
    return this.scorer.dispose();
  }
}
