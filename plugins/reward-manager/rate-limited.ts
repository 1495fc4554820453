import {
  failedReward,
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
  toSampleReward,
  withDeadline,
  type Answer,
  type DataProto,
  type Logger,
  type MetricsSink,
  type SampleReward,
  type ScoreFunctions,
  type ServiceCalls,
  type Tokenizer,
} from "verl";
import { requireFunctions, timesOf } from "./functions-of-answers.ts";
import { serviceCalls } from "./open-service.ts";
import type { LimitSettings } from "./service-options.ts";

export interface RateLimitedOptions extends LimitSettings {
  timeout: number;
}

/** Naive scoring for functions that ask a service with limits, such as a judge behind an API. */
export class RateLimitedRewardManager extends RewardManager {
  private readonly calls: ServiceCalls;

  constructor(
    @inject(TOKENIZER) private readonly tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) private readonly functions: ScoreFunctions,
    @inject(OPTIONS) private readonly options: RateLimitedOptions,
    @inject(LOGGER) private readonly log: Logger,
    @inject(METRICS) private readonly metrics: MetricsSink,
  ) {
    super();
    this.calls = serviceCalls(options, metrics);
  }

  async score(batch: DataProto, { signal }: { validate: boolean; signal?: AbortSignal }): Promise<SampleReward[]> {
    const answers = readAnswers(batch, this.tokenizer);
    requireFunctions(answers, this.functions);
    const scored = await Promise.all(answers.map((answer) => this.scoreOne(answer, signal)));
    const rewards = scored.map(({ reward }) => reward);
    reportUnscored(this.log, rewards, answers);
    reportTimes(this.metrics, this.log, timesOf(this.functions, answers, scored));
    return rewards;
  }

  /** The deadline is that of one attempt: waiting for the limits does not count. */
  private async scoreOne(
    { uid: _, ...input }: Answer,
    signal?: AbortSignal,
  ): Promise<{ reward: SampleReward; seconds: number }> {
    const { timeout, estimated_tokens_per_request } = this.options;
    const score = this.functions.get(input.data_source);
    let start = performance.now();
    const attempt = (): Promise<unknown> => {
      start = performance.now();
      return withDeadline(timeout, (own) => score({ ...input, signal: own }), signal);
    };
    let reward: SampleReward;
    try {
      reward = toSampleReward(await this.calls.run(estimated_tokens_per_request, attempt, signal));
    } catch (error) {
      signal?.throwIfAborted();
      reward = failedReward(this.functions, error);
    }
    return { reward, seconds: (performance.now() - start) / 1000 };
  }
}
