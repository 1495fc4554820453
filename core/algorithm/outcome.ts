import { NdArray } from "../batch/nd-array.ts";
import type { AdvantageInput } from "./advantage-estimator.ts";
import { maskedRowSums } from "./masked-arrays.ts";

/** What outcome estimators start from: one score a row, and which rows take part in statistics. */
export interface Outcomes {
  /** Σ of the row's token-level rewards under its mask. */
  readonly scores: Float64Array;
  /** 1 for rows that have a score and at least one unmasked token. */
  readonly counted: Uint8Array;
}

export function outcomes({ token_level_rewards, response_mask, unscored }: AdvantageInput): Outcomes {
  const rows = token_level_rewards.rows;
  const scores = maskedRowSums(token_level_rewards.data, response_mask.data, rows);
  const tokens = maskedRowSums(response_mask.data, response_mask.data, rows);
  const counted = Uint8Array.from(tokens, (count, row) => (count > 0 && !unscored?.[row] ? 1 : 0));
  return { scores, counted };
}

/** One value a row, spread over its unmasked tokens; rows × response length. */
export function spreadOverTokens(values: ArrayLike<number>, mask: NdArray<"float32">): NdArray<"float32"> {
  const spread = NdArray.zeros("float32", mask.shape);
  const width = mask.rowSize;
  for (let row = 0, at = 0; row < mask.rows; row++) {
    for (const end = at + width; at < end; at++) if (mask.data[at] !== 0) spread.data[at] = values[row]!;
  }
  return spread;
}
