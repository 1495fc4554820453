import type { DataProto } from "../batch/data-proto.ts";
import { VerlError } from "../errors/verl-error.ts";
import type { RewardManager, SampleReward } from "./reward-manager.ts";
import { describeValue, toSampleReward, unscored, unscoredClass } from "./sample-reward.ts";

/** Column that agent loops fill for the rows they scored themselves; null or absent for the others. */
export const REWARD_SCORE = "reward_score";

/**
 * One reward a row, in order; every score is finite. Rows that their agent loop scored keep that score, rows without a response token stay unscored, and
 * the manager is asked for the rest.
 * @throws VerlError VERL_REWARD_RESULT when the manager returns another number of results than it was given rows, or one that is none.
 */
export async function scoreBatch(
  manager: RewardManager,
  batch: DataProto,
  options: { validate: boolean; signal?: AbortSignal },
): Promise<SampleReward[]> {
  const rewards = knownRewards(batch);
  const open = rewards.flatMap((reward, row) => (reward === undefined ? [row] : []));
  if (open.length === 0) return rewards as SampleReward[];
  return withScored(rewards, await manager.score(open.length === batch.length ? batch : batch.index(open), options));
}

/** Rewards that no manager is asked for: of rows that their loop scored, and of those without a response; undefined for the others. */
export function knownRewards(batch: DataProto): (SampleReward | undefined)[] {
  const own = batch.nonTensorBatch.get(REWARD_SCORE);
  return Array.from(responseLengths(batch), (length, row) => {
    if (length === 0) return unscored("empty_response", "there is no response token to carry a score");
    const score = own?.[row];
    return score === null || score === undefined ? undefined : toSampleReward(score);
  });
}

/**
 * The rewards with what a manager returned for those that are undefined, in order.
 * @throws VerlError VERL_REWARD_RESULT
 */
export function withScored(rewards: readonly (SampleReward | undefined)[], scored: unknown): SampleReward[] {
  const open = rewards.filter((reward) => reward === undefined).length;
  if (!Array.isArray(scored)) throw badResult(`${describeValue(scored)} for ${open} rows`);
  if (scored.length !== open) throw badResult(`${scored.length} results for ${open} rows`);
  let at = 0;
  return rewards.map((reward, row) => reward ?? finite(checked(scored[at++], row)));
}

/** Managers come from plugins, which may be written in JavaScript. */
function checked(result: unknown, row: number): SampleReward {
  if (typeof result !== "object" || result === null) throw badResult(`${describeValue(result)} for row ${row}`);
  const { score, unscored: reason, extra } = result as Record<string, unknown>;
  if (typeof reason !== "string" && typeof score !== "number")
    throw badResult(`an object without score and unscored for row ${row}`);
  if (typeof extra !== "object" || extra === null) throw badResult(`an object without extra for row ${row}`);
  return result as SampleReward;
}

const badResult = (what: string): VerlError =>
  new VerlError("VERL_REWARD_RESULT", `score() returned ${what}.`, {
    hint: "It returns one result a row, in order: { score, extra: {} }, or { unscored: reason, extra: {} } for a row without score.",
  });

/** No manager gets a score that is not finite into the batch, where it would spoil its whole group. */
function finite(reward: SampleReward): SampleReward {
  if ("unscored" in reward || Number.isFinite(reward.score)) return reward;
  return unscored("not_finite", `the reward manager returned ${reward.score}`, reward.extra);
}

/** Tokens of each row's response, observations included: those that `attention_mask` marks in its last columns. */
export function responseLengths(batch: DataProto): Int32Array {
  const [rows = 0, responseWidth = 0] = batch.tensor("responses").shape;
  const mask = batch.tensor("attention_mask", "int32");
  const width = mask.shape[1] ?? 0;
  const lengths = new Int32Array(rows);
  for (let row = 0; row < rows; row += 1) {
    const end = (row + 1) * width;
    for (let at = end - responseWidth; at < end; at += 1) lengths[row]! += mask.data[at]!;
  }
  return lengths;
}

/**
 * How many rows have no score, by class: `reward/unscored/error` and so on, `reward/unscored` for all of them, and
 * `reward/unscored_fraction`. And in how many rows a part of the reward was not finite: `reward/not_finite/format`.
 */
export function unscoredMetrics(rewards: readonly SampleReward[]): Record<string, number> {
  const metrics: Record<string, number> = { "reward/unscored": 0 };
  for (const reward of rewards) {
    if (!("unscored" in reward)) {
      for (const part of reward.notFinite ?? []) {
        const name = `reward/not_finite/${part}`;
        metrics[name] = (metrics[name] ?? 0) + 1;
      }
      continue;
    }
    const name = `reward/unscored/${unscoredClass(reward.unscored)}`;
    metrics[name] = (metrics[name] ?? 0) + 1;
    metrics["reward/unscored"]! += 1;
  }
  metrics["reward/unscored_fraction"] = rewards.length === 0 ? 0 : metrics["reward/unscored"]! / rewards.length;
  return metrics;
}

/**
 * Ends the run when a larger share of the batch than `maxFraction` has no score, since it would go on with what is left. Empty
 * responses do not count: they are the policy's doing, not the reward's.
 * @param ids of the rows, as warnings and dumps name them: their `uid`.
 * @throws VerlError VERL_REWARD_UNSCORED with the commonest reasons.
 */
export function requireScored(rewards: readonly SampleReward[], maxFraction: number, ids: readonly unknown[]): void {
  const reasons = new Map<string, { count: number; first: unknown }>();
  let failed = 0;
  rewards.forEach((reward, row) => {
    if (!("unscored" in reward) || unscoredClass(reward.unscored) === "empty_response") return;
    failed += 1;
    const seen = reasons.get(reward.unscored);
    if (seen === undefined) reasons.set(reward.unscored, { count: 1, first: ids[row] });
    else seen.count += 1;
  });
  if (failed === 0 || failed / rewards.length <= maxFraction) return;
  const commonest = [...reasons].sort(([, a], [, b]) => b.count - a.count).slice(0, 3);
  throw new VerlError(
    "VERL_REWARD_UNSCORED",
    `${failed} of ${rewards.length} answers have no score: ${commonest.map(([reason, { count, first }]) => `${count} × ${reason} (first: ${String(first)})`).join("; ")}.`,
    {
      location: { path: "reward_model.max_unscored_fraction" },
      hint: `Mend the score function, or let more than ${maxFraction} of a batch go unscored (reward_model.max_unscored_fraction).`,
      details: { failed, rows: rewards.length, reasons: Object.fromEntries([...reasons].slice(0, 20)) },
    },
  );
}
