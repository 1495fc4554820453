import {
  inject,
  OPTIONS,
  responseLengths,
  RewardManager,
  SCORE_FUNCTIONS,
  TOKENIZER,
  toSampleReward,
  unscored,
  type DataProto,
  type SampleReward,
  type ScoreFunctions,
  type Tokenizer,
} from "verl";

/** The run's score function, less a price for each token. What fails is unscored with its reason, never a silent 0. */
export class PricedRewardManager extends RewardManager {
  constructor(
    @inject(TOKENIZER) private readonly tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) private readonly functions: ScoreFunctions,
    @inject(OPTIONS) private readonly options: { price: number },
  ) {
    super();
  }

  score(batch: DataProto, { signal }: { signal?: AbortSignal }): Promise<SampleReward[]> {
    const responses = batch.tensor("responses", "int32");
    const scores = Array.from(responseLengths(batch), async (length, row) => {
      signal?.throwIfAborted();
      const ids = responses.data.subarray(row * responses.rowSize, row * responses.rowSize + length);
      const reward = await this.rewardOf(batch, row, this.tokenizer.decode(ids, { skipSpecialTokens: true }), signal);
      if ("unscored" in reward) return reward;
      const cost = this.options.price * length;
      return { score: reward.score - cost, extra: { ...reward.extra, cost } };
    });
    return Promise.all(scores);
  }

  private async rewardOf(batch: DataProto, row: number, answer: string, signal?: AbortSignal): Promise<SampleReward> {
    const column = (name: string): unknown => batch.nonTensorBatch.get(name)?.[row];
    const data_source = String(column("data_source"));
    const { ground_truth } = (column("reward_model") ?? {}) as { ground_truth?: unknown };
    const extra_info = { ...(column("extra_info") as object | null), stop_reason: column("stop_reason") };
    const score = this.functions.get(data_source);
    try {
      return toSampleReward(await score({ data_source, solution_str: answer, ground_truth, extra_info, signal }));
    } catch (error) {
      if (signal?.aborted) throw error;
      return unscored("error", error instanceof Error ? error.message : String(error));
    }
  }
}
