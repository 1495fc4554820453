import {
  CONFIG,
  DeadlineError,
  inject,
  LOGGER,
  mapConcurrent,
  OPTIONS,
  responseLengths,
  RewardManager,
  SCORE_FUNCTIONS,
  thrownAt,
  TOKENIZER,
  toSampleReward,
  unscored,
  withDeadline,
  type DataProto,
  type Logger,
  type PpoConfig,
  type SampleReward,
  type ScoreFunctions,
  type Tokenizer,
} from "verl";

/** Failures that are shown in the log of one call, with the answer they belong to. */
const SHOWN = 3;
const EXCERPT = 120;

/** Scores each answer by itself: one call of the score function a row, asynchronous ones side by side. */
export class NaiveRewardManager extends RewardManager {
  constructor(
    @inject(TOKENIZER) private readonly tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) private readonly functions: ScoreFunctions,
    @inject(OPTIONS) private readonly options: { max_concurrent: number },
    @inject(LOGGER) private readonly log: Logger,
    @inject(CONFIG) private readonly config: { reward_model: Pick<PpoConfig["reward_model"], "timeout_s"> },
  ) {
    super();
  }

  async score(batch: DataProto, { signal }: { validate: boolean; signal?: AbortSignal }): Promise<SampleReward[]> {
    const answers = this.decode(batch);
    const sources = batch.column("data_source") as readonly string[];
    // A source without function is the config's fault, not a sample's: it ends the run before anything is scored.
    for (const source of new Set(sources)) this.functions.get(source);
    const column = (name: string, row: number): unknown => batch.nonTensorBatch.get(name)?.[row];

    const rewards = await mapConcurrent(
      answers,
      this.options.max_concurrent,
      async (answer, row): Promise<SampleReward> => {
        const rewardModel = column("reward_model", row) as { ground_truth?: unknown } | null | undefined;
        try {
          const result = await withDeadline(
            this.config.reward_model.timeout_s,
            (deadline) =>
              this.functions.get(sources[row]!)({
                data_source: sources[row]!,
                solution_str: answer,
                ground_truth: rewardModel?.ground_truth,
                extra_info: {
                  ...(column("extra_info", row) as object | null),
                  num_turns: column("__num_turns__", row),
                  stop_reason: column("stop_reason", row),
                },
                signal: deadline,
              }),
            signal,
          );
          return toSampleReward(result);
        } catch (error) {
          if (signal?.aborted) throw error;
          if (error instanceof DeadlineError) return unscored("timeout", error.message);
          const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
          return unscored("error", what + thrownAt(this.functions, error));
        }
      },
      signal,
    );
    this.report(rewards, answers, (row) => `${(column("uid", row) as string | undefined) ?? row}`);
    return rewards;
  }

  /** The text of each response: its real tokens, special ones left out. */
  private decode(batch: DataProto): string[] {
    const responses = batch.tensor("responses", "int32");
    const width = responses.rowSize;
    return Array.from(responseLengths(batch), (length, row) =>
      this.tokenizer.decode(responses.data.subarray(row * width, row * width + length), { skipSpecialTokens: true }),
    );
  }

  private report(rewards: readonly SampleReward[], answers: readonly string[], uid: (row: number) => string): void {
    const failed = rewards.flatMap((reward, row) => ("unscored" in reward ? [{ row, reason: reward.unscored }] : []));
    if (failed.length === 0) return;
    this.log.warn(`${failed.length} of ${rewards.length} answers have no score.`, {
      first: failed
        .slice(0, SHOWN)
        .map(({ row, reason }) => ({ uid: uid(row), reason, response: answers[row]!.slice(0, EXCERPT) })),
    });
  }
}
