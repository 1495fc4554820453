import { NdArray } from "../batch/nd-array.ts";
import type { SampleReward } from "../reward/reward-manager.ts";

export interface RewardColumns {
  /** rows × response length: each row's score on its last attended response token, 0 elsewhere. */
  token_level_scores: NdArray<"float32">;
  /** 1 for rows without a score. */
  unscored: NdArray<"uint8">;
  /** Parts that the reward reported beside the score, one list a part; null where a row lacks it. */
  extra: Record<string, unknown[]>;
  /** `reward/…` counters of what went unscored, and the mean of each numeric part. */
  metrics: Record<string, number>;
}

/**
 * Lays sample rewards out as token-level scores. A row with no response token has nowhere to carry a score and counts as unscored.
 * @param attention rows × response length: 1 on every token of the response, observations included.
 */
export function layOutRewards(rewards: readonly SampleReward[], attention: NdArray<"int32">): RewardColumns {
  const [rows = 0, width = 0] = attention.shape;
  const scores = NdArray.zeros("float32", [rows, width]);
  const unscored = NdArray.zeros("uint8", [rows]);
  const extra: Record<string, unknown[]> = {};
  rewards.forEach((reward, row) => {
    const last = attention.data.subarray(row * width, (row + 1) * width).lastIndexOf(1);
    if ("score" in reward && last >= 0) scores.data[row * width + last] = reward.score;
    else unscored.data[row] = 1;
    for (const [part, value] of Object.entries(reward.extra))
      (extra[part] ??= new Array<unknown>(rows).fill(null))[row] = value;
  });
  return { token_level_scores: scores, unscored, extra, metrics: rewardMetrics(unscored.data, extra) };
}

function rewardMetrics(unscored: Uint8Array, extra: Record<string, unknown[]>): Record<string, number> {
  const metrics: Record<string, number> = { "reward/unscored": unscored.reduce((sum, flag) => sum + flag, 0) };
  for (const [part, values] of Object.entries(extra)) {
    const numbers = values.filter((value) => typeof value === "number" || typeof value === "boolean").map(Number);
    if (numbers.length > 0)
      metrics[`reward/${part}/mean`] = numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
  }
  return metrics;
}
