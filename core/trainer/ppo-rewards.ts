import type { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import type { SampleReward } from "../reward/reward-manager.ts";
import { responseLengths } from "../reward/score-batch.ts";

export interface RewardColumns {
  /** rows × response length: each row's score on the last trainable token of its response, 0 elsewhere. */
  token_level_scores: NdArray<"float32">;
  /** 1 for rows without a score. */
  unscored: NdArray<"uint8">;
  /** Parts that the reward reported beside the score, one list a part; null where a row lacks it. */
  parts: Record<string, unknown[]>;
}

/** Lays sample rewards out as token-level scores of the rows of `batch`. */
export function layOutRewards(rewards: readonly SampleReward[], batch: DataProto): RewardColumns {
  const [rows = 0, width = 0] = batch.tensor("responses").shape;
  const token_level_scores = NdArray.zeros("float32", [rows, width]);
  const unscored = NdArray.zeros("uint8", [rows]);
  const parts: Record<string, unknown[]> = {};
  const lengths = responseLengths(batch);
  const mask = batch.batch.has("response_mask") ? batch.tensor("response_mask", "int32").data : undefined;
  rewards.forEach((reward, row) => {
    const length = lengths[row]!;
    if ("score" in reward && length > 0) {
      // A conversation may end with an observation, where an estimator that goes over trainable tokens would not see the score.
      const last = mask?.subarray(row * width, row * width + length).lastIndexOf(1) ?? -1;
      token_level_scores.data[row * width + (last < 0 ? length - 1 : last)] = reward.score;
    } else unscored.data[row] = 1;
    for (const [part, value] of Object.entries(reward.extra)) {
      (parts[part] ??= new Array<unknown>(rows).fill(null))[row] = value;
    }
  });
  return { token_level_scores, unscored, parts };
}

/** `reward/<part>/mean` of each part that is a number or a boolean. */
export function partMetrics(parts: RewardColumns["parts"]): Record<string, number> {
  const metrics: Record<string, number> = {};
  for (const [part, values] of Object.entries(parts)) {
    const numbers = values.filter((value) => typeof value === "number" || typeof value === "boolean").map(Number);
    if (numbers.length > 0) {
      metrics[`reward/${part}/mean`] = numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
    }
  }
  return metrics;
}
