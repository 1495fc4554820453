import type { NdArray } from "../batch/nd-array.ts";
import type { AdvantageInput } from "./advantage-estimator.ts";
import { checkAdvantageInput, notFinite } from "./check-advantage-input.ts";
import { tokenField } from "./token-field.ts";
import { sumOf, tokenRuns, zeroStretches, type TokenRuns } from "./token-runs.ts";

/** What outcome estimators start from: one score a row, and which rows take part in statistics. */
export interface Outcomes {
  /** Σ of the row's token-level rewards under its mask; 0 for rows without a score. */
  readonly scores: Float64Array;
  /** Unmasked tokens of each row. */
  readonly lengths: Int32Array;
  /** 1 for rows that have a score and at least one unmasked token. */
  readonly counted: Uint8Array;
  /** Where the unmasked tokens stand. */
  readonly runs: TokenRuns;
}

/**
 * @throws VERL_ALGORITHM_SHAPE when the fields do not fit together.
 * @throws VERL_ALGORITHM_NOT_FINITE for a score that is NaN or infinite in a row that is not marked as unscored.
 */
export function outcomes(input: AdvantageInput): Outcomes {
  checkAdvantageInput(input);
  const { token_level_rewards, response_mask, unscored } = input;
  const runs = tokenRuns(response_mask);
  const { starts, ends, ofRow } = runs;
  const { rows } = response_mask;
  const rewards = token_level_rewards.data;
  const isZero = zeroStretches(rewards, response_mask.rowSize);
  const scores = new Float64Array(rows);
  const lengths = new Int32Array(rows);
  const counted = new Uint8Array(rows);
  for (let row = 0; row < rows; row++) {
    let score = 0;
    for (let run = ofRow[row]!; run < ofRow[row + 1]!; run++) {
      const last = ends[run]! - 1;
      // A rule's reward stands on the last token alone.
      score += isZero(starts[run]!, last) ? rewards[last]! : sumOf(rewards, starts[run]!, last + 1);
      lengths[row]! += ends[run]! - starts[run]!;
    }
    if (unscored?.[row]) continue;
    if (!Number.isFinite(score)) throw notFinite("score", score, row);
    scores[row] = score;
    counted[row] = lengths[row]! > 0 ? 1 : 0;
  }
  return { scores, lengths, counted, runs };
}

/** One value a row, spread over its unmasked tokens; rows × response length. */
export function spreadOverTokens(
  values: ArrayLike<number>,
  mask: NdArray<"float32">,
  runs = tokenRuns(mask),
): NdArray<"float32"> {
  const { starts, ends, ofRow } = runs;
  const spread = tokenField(mask.shape, runs);
  for (let row = 0; row < mask.rows; row++) {
    for (let run = ofRow[row]!; run < ofRow[row + 1]!; run++) {
      spread.data.fill(values[row]!, starts[run], ends[run]);
    }
  }
  return spread;
}
