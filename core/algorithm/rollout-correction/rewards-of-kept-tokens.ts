import type { NdArray } from "../../batch/nd-array.ts";

/**
 * Moves the rewards of rejected tokens to their row's nearest kept token before them, or, where there is none, to its first kept one:
 * an answer is worth the same whether or not its last token, which often holds the whole reward, was rejected. Rows that kept
 * nothing stay as they are.
 * @param rewards rows × response length.
 * @param before Mask of the same shape, before tokens were rejected.
 * @param after The same less the rejected tokens.
 */
export function rewardsOfKeptTokens(rewards: NdArray<"float32">, before: NdArray, after: NdArray): NdArray<"float32"> {
  const moved = rewards.copy();
  const width = rewards.rowSize;
  for (let row = 0; row < rewards.rows; row++) {
    const start = row * width;
    let target = start;
    while (target < start + width && Number(after.data[target]) === 0) target++;
    if (target === start + width) continue;
    for (let at = start; at < start + width; at++) {
      if (Number(after.data[at]) !== 0) target = at;
      else if (Number(before.data[at]) !== 0) {
        moved.data[target]! += moved.data[at]!;
        moved.data[at] = 0;
      }
    }
  }
  return moved;
}
