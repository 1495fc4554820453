import {
  CONFIG,
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
  VerlError,
  type DataProto,
  type Logger,
  type MetricsSink,
  type SampleReward,
  type ScoreFunctions,
  type Scorer,
  type Tokenizer,
} from "verl";
import type { PoolSettings } from "./pool-options.ts";
import { scorerOf, type FunctionConfig } from "./scorer-of.ts";

/** Scores the whole batch by one call of the function of `custom_reward_function.path`, which gets lists and returns a list. */
export class BatchRewardManager extends RewardManager {
  private readonly scorer: Scorer;

  constructor(
    @inject(TOKENIZER) private readonly tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) private readonly functions: ScoreFunctions,
    @inject(OPTIONS) options: PoolSettings,
    @inject(LOGGER) private readonly log: Logger,
    @inject(CONFIG) { reward_model }: FunctionConfig,
    @inject(METRICS) private readonly metrics: MetricsSink,
  ) {
    super();
    if (functions.file === undefined) throw noFile();
    // There is one call at a time.
    this.scorer = scorerOf(functions, options, { reward_model: { ...reward_model, num_workers: 1 } });
  }

  override load(): Promise<void> {
    return this.scorer.start();
  }

  override dispose(): Promise<void> {
    return this.scorer.dispose();
  }

  async score(batch: DataProto, { signal }: { validate: boolean; signal?: AbortSignal }): Promise<SampleReward[]> {
    const answers = readAnswers(batch, this.tokenizer);
    if (answers.length === 0) return [];
    const input = {
      data_sources: answers.map(({ data_source }) => data_source),
      solution_strs: answers.map(({ solution_str }) => solution_str),
      ground_truths: answers.map(({ ground_truth }) => ground_truth),
      extra_infos: answers.map(({ extra_info }) => extra_info),
    };
    const [{ rewards, seconds }] = (await this.scorer.run([{ of: 0, batch: input }], signal)) as [
      { rewards: SampleReward[]; seconds: number },
    ];
    reportUnscored(this.log, rewards, answers);
    const name = this.functions.nameOf?.(answers[0]!.data_source) ?? "batch";
    reportTimes(this.metrics, this.log, [{ name, uid: answers[0]!.uid, seconds }]);
    return rewards;
  }
}

const noFile = (): VerlError =>
  new VerlError("VERL_REWARD_NO_FUNCTION", "The reward manager `batch` has no score function for whole batches.", {
    location: { path: "custom_reward_function.path" },
    hint: "Set custom_reward_function.path to a file whose function takes { data_sources, solution_strs, ground_truths, extra_infos } and returns a list. Registered functions score one answer: use `naive` for them.",
  });
