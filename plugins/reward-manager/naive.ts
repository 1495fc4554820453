import {
  CONFIG,
  createScorer,
  inject,
  LOGGER,
  METRICS,
  OPTIONS,
  readAnswers,
  reportTimes,
  reportUnscored,
  RewardManager,
  SCORE_FUNCTIONS,
  TOKENIZER,
  type Answer,
  type DataProto,
  type Logger,
  type MetricsSink,
  type PpoConfig,
  type SampleReward,
  type ScoreFunctions,
  type Scorer,
  type Tokenizer,
} from "verl";
import { poolOf, type PoolSettings } from "./pool-options.ts";

export interface NaiveOptions extends PoolSettings {
  max_concurrent?: number;
}

/** What function-calling managers read of the config. */
export type FunctionConfig = { reward_model: Pick<PpoConfig["reward_model"], "timeout_s" | "num_workers"> };

/** Scores each answer by itself: one call of the score function a row, asynchronous ones side by side, or all in a pool. */
export class NaiveRewardManager extends RewardManager {
  protected readonly scorer: Scorer;

  constructor(
    @inject(TOKENIZER) protected readonly tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) protected readonly functions: ScoreFunctions,
    @inject(OPTIONS) options: NaiveOptions,
    @inject(LOGGER) protected readonly log: Logger,
    @inject(CONFIG) config: FunctionConfig,
    @inject(METRICS) protected readonly metrics: MetricsSink,
  ) {
    super();
    const { timeout_s } = config.reward_model;
    const { max_concurrent = 1 } = options;
    this.scorer = createScorer([functions], {
      timeoutS: timeout_s,
      maxConcurrent: max_concurrent,
      pool: poolOf(options, config),
    });
  }

  override load(): Promise<void> {
    return this.scorer.start();
  }

  override dispose(): Promise<void> {
    return this.scorer.dispose();
  }

  async score(batch: DataProto, { signal }: { validate: boolean; signal?: AbortSignal }): Promise<SampleReward[]> {
    const answers = readAnswers(batch, this.tokenizer);
    // A source without function is the config's fault, not a sample's: it ends the run before anything is scored.
    for (const source of new Set(answers.map(({ data_source }) => data_source))) this.functions.get(source);
    const calls = answers.map(({ uid: _, ...input }) => ({ of: 0, input }));
    const scored = await this.scorer.run(calls, signal);
    const rewards = scored.map(({ rewards: [reward] }) => reward!);
    this.report(rewards, answers, (row) => scored[row]!.seconds);
    return rewards;
  }

  private report(rewards: readonly SampleReward[], answers: readonly Answer[], seconds: (row: number) => number): void {
    reportUnscored(this.log, rewards, answers);
    const times = answers.map(({ uid, data_source }, row) => {
      return { name: this.functions.nameOf?.(data_source) ?? data_source, uid, seconds: seconds(row) };
    });
    reportTimes(this.metrics, this.log, times);
  }
}
