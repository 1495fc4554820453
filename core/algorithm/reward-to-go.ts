import type { NdArray } from "../batch/nd-array.ts";
import type { AdvantageInput } from "./advantage-estimator.ts";
import { checkAdvantageInput, notFinite } from "./check-advantage-input.ts";
import { tokenField } from "./token-field.ts";
import { tokenRuns, zeroStretches } from "./token-runs.ts";

/**
 * Discounted reward to go, G_t = r_t + γ · G of the next unmasked token; rows × response length. Observations in between neither end
 * the sum nor count as steps. Masked tokens and unscored rows get 0.
 * @throws VERL_ALGORITHM_SHAPE, VERL_ALGORITHM_NOT_FINITE
 */
export function rewardToGo(
  input: AdvantageInput,
  gamma = 1,
  runs = tokenRuns(input.response_mask),
): NdArray<"float32"> {
  checkAdvantageInput(input);
  const { token_level_rewards, response_mask, unscored } = input;
  const { starts, ends, ofRow } = runs;
  const returns = tokenField(response_mask.shape, runs, unscored);
  const [rewards, target] = [token_level_rewards.data, returns.data];
  const isZero = zeroStretches(rewards, response_mask.rowSize);
  for (let row = 0; row < response_mask.rows; row++) {
    if (unscored?.[row]) continue;
    let toGo = 0;
    for (let run = ofRow[row + 1]! - 1; run >= ofRow[row]!; run--) {
      const last = ends[run]! - 1;
      if (gamma === 1 && isZero(starts[run]!, last)) {
        toGo += rewards[last]!;
        target.fill(toGo, starts[run], last + 1);
        continue;
      }
      for (let at = last; at >= starts[run]!; at--) {
        toGo = rewards[at]! + gamma * toGo;
        target[at] = toGo;
      }
    }
    if (!Number.isFinite(toGo)) throw notFinite("return", toGo, row);
  }
  return returns;
}
