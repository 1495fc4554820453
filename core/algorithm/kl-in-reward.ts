import type { NdArray } from "../batch/nd-array.ts";

export interface PenalizedRewards {
  /** rows × response length: scores − β · KL on unmasked tokens, the scores elsewhere. */
  token_level_rewards: NdArray<"float32">;
  /** Mean over rows of each row's mean KL a token; rows without tokens are left out. */
  kl: number;
}

/**
 * KL in the reward, as in InstructGPT: r_t = score_t − β · KL_t.
 * @param scores rows × response length. @param mask likewise. @param kl per-token KL(old ‖ ref) of the same shape; masked elements are not read.
 */
export function applyKlPenalty(
  scores: NdArray<"float32">,
  kl: ArrayLike<number>,
  mask: NdArray,
  beta: number,
): PenalizedRewards {
  const rewards = scores.copy();
  const width = scores.rowSize;
  let total = 0;
  let rows = 0;
  for (let row = 0, at = 0; row < scores.rows; row++) {
    let sum = 0;
    let tokens = 0;
    for (const end = at + width; at < end; at++) {
      if (Number(mask.data[at]) === 0) continue;
      rewards.data[at]! -= beta * kl[at]!;
      sum += kl[at]!;
      tokens++;
    }
    if (tokens === 0) continue;
    total += sum / tokens;
    rows++;
  }
  return { token_level_rewards: rewards, kl: total / Math.max(rows, 1) };
}
