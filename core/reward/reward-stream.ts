import type { DataProto } from "../batch/data-proto.ts";
import type { RewardSession, SampleReward } from "./reward-manager.ts";
import { knownRewards, withScored } from "./score-batch.ts";

/** What `scoreBatch` is for a batch, for rows that come one by one: the rewards are the same. */
export class RewardStream {
  /** Of each row that came: its reward, or its number in the session. */
  private readonly rows: (SampleReward | number)[] = [];
  private asked = 0;
  private failure: { readonly error: unknown } | undefined;

  constructor(private readonly session: RewardSession) {}

  /** Begins to score a row, a batch of one. */
  add(row: DataProto): void {
    const [known] = knownRewards(row);
    this.rows.push(known ?? this.asked);
    if (known !== undefined) return;
    this.asked += 1;
    if (this.failure !== undefined) return;
    try {
      this.session.add(row);
    } catch (error) {
      this.failure = { error };
    }
  }

  /**
   * @param order the rows of the batch, each by how many came before it.
   * @throws what the manager fails by; VerlError VERL_REWARD_RESULT
   */
  async end(order: readonly number[]): Promise<SampleReward[]> {
    if (this.failure !== undefined) throw this.failure.error;
    const rows = order.map((at) => this.rows[at]!);
    const asked = rows.filter((row) => typeof row === "number");
    const rewards = rows.map((row) => (typeof row === "number" ? undefined : row));
    return withScored(rewards, asked.length === 0 ? [] : await this.session.end(asked));
  }
}
