import { DataProto } from "../batch/data-proto.ts";
import { Listener } from "../controller/index.ts";
import type { SampleReward } from "../reward/reward-manager.ts";
import type { PpoRun } from "./ppo-run.ts";
import type { GenerateOptions } from "./workers/answer-prompts.ts";

/** Column by which a row is known again among the answers of all ranks. */
const ROW = "__row__";

type Run = Pick<PpoRun, "sampler" | "reward" | "streamsRewards">;

let made = 0;

/**
 * The answers of one batch and their rewards. Where the reward manager scores each answer by itself, one is scored as soon as its
 * trajectory ends, while others are still being sampled; where it needs the whole batch, after the last. The rewards are the same.
 */
export class Scoring {
  private readonly name = `${++made}`;
  /** Rows that were sent to be scored, and which number each has there. */
  private readonly sent = new Map<unknown, number>();
  /** Numbers of the batch's rows. */
  private readonly order: number[] = [];
  private prompts = 0;
  private failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly run: Run,
    private readonly validate: boolean,
  ) {}

  /**
   * Answers every row of `prompts`; may be called for several parts of a batch.
   * @param choose takes the rows that the batch keeps. Default: all.
   */
  async generate(
    prompts: DataProto,
    options: Omit<GenerateOptions, "validate" | "answered">,
    choose: (answers: DataProto) => DataProto = (answers) => answers,
  ): Promise<DataProto> {
    const { sampler, streamsRewards } = this.run;
    const { validate } = this;
    if (!streamsRewards) return choose(await sampler.generateSequences(prompts, { ...options, validate }));
    const first = this.prompts;
    this.prompts += prompts.length;
    const rows = Array.from({ length: prompts.length }, (_, row) => first + row);
    const numbered = prompts.union(DataProto.fromSingleDict({ [ROW]: rows }));
    const answered = new Listener<DataProto>((row) => this.send(row));
    try {
      const answers = choose(await sampler.generateSequences(numbered, { ...options, validate, answered }));
      this.order.push(...answers.column(ROW).map((row) => this.sent.get(row)!));
      return withoutRow(answers);
    } catch (error) {
      await this.giveUp();
      throw error;
    }
  }

  /** One reward a row of `batch`, which has the rows that were generated. @param signal ends it. */
  async rewards(batch: DataProto, signal: AbortSignal): Promise<SampleReward[]> {
    const { reward, streamsRewards } = this.run;
    if (!streamsRewards) {
      const rewards = await reward.computeRewards(batch, { validate: this.validate, signal });
      return rewards.flat().slice(0, batch.length);
    }
    if (this.failure !== undefined) throw this.failure.error;
    const [rewards] = await reward.streamedRewards(this.name, this.order, { signal });
    return rewards!;
  }

  private send(row: DataProto): void {
    this.sent.set(row.column(ROW)[0], this.sent.size);
    const { validate } = this;
    this.run.reward.scoreAnswer(this.name, withoutRow(row), { validate }).catch((error: unknown) => {
      this.failure ??= { error };
    });
  }

  /** There will be no batch. What fails here has failed before. */
  private async giveUp(): Promise<void> {
    await this.run.reward.dropAnswers(this.name).catch(() => undefined);
  }
}

const withoutRow = (rows: DataProto): DataProto =>
  rows.select({ nonTensorBatchKeys: [...rows.nonTensorBatch.keys()].filter((name) => name !== ROW) });
