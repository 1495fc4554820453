import { NdArray } from "../batch/nd-array.ts";
import type { AdvantageInput } from "./advantage-estimator.ts";
import { checkAdvantageInput, notFinite } from "./check-advantage-input.ts";

/** What outcome estimators start from: one score a row, and which rows take part in statistics. */
export interface Outcomes {
  /** Σ of the row's token-level rewards under its mask; 0 for rows without a score. */
  readonly scores: Float64Array;
  /** Unmasked tokens of each row. */
  readonly lengths: Int32Array;
  /** 1 for rows that have a score and at least one unmasked token. */
  readonly counted: Uint8Array;
}

/**
 * @throws VERL_ALGORITHM_SHAPE when the fields do not fit together.
 * @throws VERL_ALGORITHM_NOT_FINITE for a score that is NaN or infinite in a row that is not marked as unscored.
 */
export function outcomes(input: AdvantageInput): Outcomes {
  checkAdvantageInput(input);
  const { token_level_rewards, response_mask, unscored } = input;
  const [rewards, mask, rows, width] = [
    token_level_rewards.data,
    response_mask.data,
    response_mask.rows,
    response_mask.rowSize,
  ];
  const scores = new Float64Array(rows);
  const lengths = new Int32Array(rows);
  const counted = new Uint8Array(rows);
  for (let row = 0, at = 0; row < rows; row++) {
    let score = 0;
    let length = 0;
    for (const end = at + width; at < end; at++) {
      if (mask[at] === 0) continue;
      score += rewards[at]!;
      length++;
    }
    lengths[row] = length;
    if (unscored?.[row]) continue;
    if (!Number.isFinite(score)) throw notFinite("score", score, row);
    scores[row] = score;
    counted[row] = length > 0 ? 1 : 0;
  }
  return { scores, lengths, counted };
}

/** One value a row, spread over its unmasked tokens; rows × response length. */
export function spreadOverTokens(values: ArrayLike<number>, mask: NdArray<"float32">): NdArray<"float32"> {
  const spread = NdArray.zeros("float32", mask.shape);
  const [source, target, width] = [mask.data, spread.data, mask.rowSize];
  for (let row = 0; row < mask.rows; row++) {
    const value = values[row]!;
    if (value === 0) continue;
    // Tokens come in runs, which `fill` writes many times faster than a loop does.
    for (let at = row * width, end = at + width; at < end;) {
      while (at < end && source[at] === 0) at++;
      const start = at;
      while (at < end && source[at] !== 0) at++;
      target.fill(value, start, at);
    }
  }
  return spread;
}
