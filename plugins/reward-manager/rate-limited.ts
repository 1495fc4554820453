import {
  AnswerRewardManager,
  failedReward,
  inject,
  LOGGER,
  METRICS,
  OPTIONS,
  SCORE_FUNCTIONS,
  TOKENIZER,
  toSampleReward,
  withDeadline,
  type Answer,
  type AnswerRow,
  type Logger,
  type MetricsSink,
  type ScoredAnswer,
  type ScoreFunctions,
  type ServiceCalls,
  type Tokenizer,
} from "verl";
import { requireFunctions, timeOf } from "./functions-of-answers.ts";
import { serviceCalls } from "./open-service.ts";
import type { LimitSettings } from "./service-options.ts";

export interface RateLimitedOptions extends LimitSettings {
  timeout: number;
}

/** Naive scoring for functions that ask a service with limits, such as a judge behind an API. */
export class RateLimitedRewardManager extends AnswerRewardManager {
  private readonly calls: ServiceCalls;

  constructor(
    @inject(TOKENIZER) tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) private readonly functions: ScoreFunctions,
    @inject(OPTIONS) private readonly options: RateLimitedOptions,
    @inject(LOGGER) log: Logger,
    @inject(METRICS) metrics: MetricsSink,
  ) {
    super(tokenizer, log, metrics);
    this.calls = serviceCalls(options, metrics);
  }

  protected override check(answers: readonly Answer[]): void {
    requireFunctions(answers, this.functions);
  }

  /** The deadline is that of one attempt: waiting for the limits does not count. */
  protected override async scoreAnswer(answer: Answer, _row: AnswerRow, signal?: AbortSignal): Promise<ScoredAnswer> {
    const { uid: _, ...input } = answer;
    const { timeout, estimated_tokens_per_request } = this.options;
    const score = this.functions.get(input.data_source);
    let start = performance.now();
    const attempt = (): Promise<unknown> => {
      start = performance.now();
      return withDeadline(timeout, (own) => score({ ...input, signal: own }), signal);
    };
    const reward = await this.calls
      .run(estimated_tokens_per_request, attempt, signal)
      .then(toSampleReward, (error: unknown) => {
        signal?.throwIfAborted();
        return failedReward(this.functions, error);
      });
    return { reward, times: [timeOf(this.functions, answer, (performance.now() - start) / 1000)] };
  }
}
