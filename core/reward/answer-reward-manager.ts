import type { DataProto } from "../batch/data-proto.ts";
import type { Tokenizer } from "../data/tokenizer.ts";
import type { Logger } from "../registry/logger.ts";
import type { MetricsSink } from "../registry/metrics-sink.ts";
import { readAnswers, type Answer } from "./answers.ts";
import { RewardManager, type RewardSession, type SampleReward } from "./reward-manager.ts";
import { responseLengths } from "./score-batch.ts";
import { reportTimes, reportUnscored, type CallTime } from "./score-report.ts";

/** What came of one answer. */
export interface ScoredAnswer {
  readonly reward: SampleReward;
  /** The calls that it took. */
  readonly times: readonly CallTime[];
  /** Further metrics of the answer, each added to the step's. */
  readonly counts?: Readonly<Record<string, number>>;
}

/** What a batch has of an answer besides what score functions get. */
export interface AnswerRow {
  /** Tokens of the response, observations included. */
  readonly length: number;
  column(name: string): unknown;
}

/**
 * A manager that scores each answer by itself, and so does not wait for the others: `scoreAnswer` is called for the rows of a batch all
 * at once, or for each as its trajectory ends. Logs and metrics are of the whole batch either way.
 */
export abstract class AnswerRewardManager extends RewardManager {
  constructor(
    protected readonly tokenizer: Tokenizer,
    protected readonly log: Logger,
    protected readonly metrics: MetricsSink,
  ) {
    super();
  }

  /** Never rejects for a reason of the answer's: it is unscored then. @throws the reason of `signal` */
  protected abstract scoreAnswer(answer: Answer, row: AnswerRow, signal?: AbortSignal): Promise<ScoredAnswer>;

  /** Finds what is the config's fault before anything is scored. */
  protected check?(answers: readonly Answer[]): void | Promise<void>;

  async score(batch: DataProto, { signal }: { validate: boolean; signal?: AbortSignal }): Promise<SampleReward[]> {
    const answers = readAnswers(batch, this.tokenizer);
    await this.check?.(answers);
    const rows = rowsOf(batch);
    const scored = await Promise.all(answers.map((answer, row) => this.scoreAnswer(answer, rows[row]!, signal)));
    return this.report(answers, scored);
  }

  override open({ signal }: { signal: AbortSignal }): RewardSession {
    const answers: Answer[] = [];
    const scored: Promise<ScoredAnswer>[] = [];
    return {
      add: (batch) => {
        const [answer] = readAnswers(batch, this.tokenizer) as [Answer];
        const work = this.checked(answer, rowsOf(batch)[0]!, signal);
        work.catch(() => undefined); // `end` tells it.
        answers.push(answer);
        scored.push(work);
      },
      end: async (order) =>
        this.report(
          order.map((at) => answers[at]!),
          await Promise.all(order.map((at) => scored[at]!)),
        ),
    };
  }

  private async checked(answer: Answer, row: AnswerRow, signal: AbortSignal): Promise<ScoredAnswer> {
    await this.check?.([answer]);
    return this.scoreAnswer(answer, row, signal);
  }

  private report(answers: readonly Answer[], scored: readonly ScoredAnswer[]): SampleReward[] {
    const rewards = scored.map(({ reward }) => reward);
    for (const { counts = {} } of scored)
      for (const [name, value] of Object.entries(counts)) this.metrics.add(name, value);
    reportUnscored(this.log, rewards, answers);
    reportTimes(
      this.metrics,
      this.log,
      scored.flatMap(({ times }) => times),
    );
    return rewards;
  }
}

const rowsOf = (batch: DataProto): AnswerRow[] =>
  Array.from(responseLengths(batch), (length, row) => ({
    length,
    column: (name) => batch.nonTensorBatch.get(name)?.[row],
  }));
