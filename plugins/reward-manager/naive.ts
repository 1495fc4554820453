import {
  AnswerRewardManager,
  CONFIG,
  inject,
  LOGGER,
  METRICS,
  OPTIONS,
  SCORE_FUNCTIONS,
  TOKENIZER,
  type Answer,
  type AnswerRow,
  type Logger,
  type MetricsSink,
  type ScoredAnswer,
  type ScoreFunctions,
  type Scorer,
  type Tokenizer,
} from "verl";
import { requireFunctions, timeOf } from "./functions-of-answers.ts";
import { scorerOf, type FunctionConfig, type FunctionOptions } from "./scorer-of.ts";

/** Scores each answer by itself: one call of the score function a row, asynchronous ones side by side, or all in a pool. */
export class NaiveRewardManager extends AnswerRewardManager {
  private readonly scorer: Scorer;

  constructor(
    @inject(TOKENIZER) tokenizer: Tokenizer,
    @inject(SCORE_FUNCTIONS) private readonly functions: ScoreFunctions,
    @inject(OPTIONS) options: FunctionOptions,
    @inject(LOGGER) log: Logger,
    @inject(CONFIG) config: FunctionConfig,
    @inject(METRICS) metrics: MetricsSink,
  ) {
    super(tokenizer, log, metrics);
    this.scorer = scorerOf(functions, options, config);
  }

  override load(): Promise<void> {
    return this.scorer.start();
  }

  override dispose(): Promise<void> {
    return this.scorer.dispose();
  }

  protected override check(answers: readonly Answer[]): void {
    requireFunctions(answers, this.functions);
  }

  protected override async scoreAnswer(answer: Answer, _row: AnswerRow, signal?: AbortSignal): Promise<ScoredAnswer> {
    const { uid: _, ...input } = answer;
    const [scored] = await this.scorer.run([{ of: 0, input }], signal);
    return { reward: scored!.rewards[0]!, times: [timeOf(this.functions, answer, scored!.seconds)] };
  }
}
