import {
  CONFIG,
  inject,
  LOGGER,
  METRICS,
  OPTIONS,
  SCORE_FUNCTIONS,
  TOKENIZER,
  type Logger,
  type MetricsSink,
  type ScoreFunctions,
  type Tokenizer,
} from "verl";
import { NaiveRewardManager } from "./naive.ts";
import type { PoolSettings } from "./pool-options.ts";
import type { FunctionConfig } from "./scorer-of.ts";

/** Naive scoring in a pool: in parallel, and an answer that makes its function loop or hoard memory costs no more than itself. */
export class PrimeRewardManager extends NaiveRewardManager {
  constructor(
    @inject(TOKENIZER) tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) functions: ScoreFunctions,
    @inject(OPTIONS) options: Omit<PoolSettings, "pooled">,
    @inject(LOGGER) log: Logger,
    @inject(CONFIG) config: FunctionConfig,
    @inject(METRICS) metrics: MetricsSink,
  ) {
    super(tokenizer, functions, { ...options, pooled: true }, log, config, metrics);
  }
}
