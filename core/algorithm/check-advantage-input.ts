import { describe, sameShape } from "../batch/nd-array.ts";
import { VerlError } from "../errors/verl-error.ts";
import type { AdvantageInput } from "./advantage-estimator.ts";

/** @throws VERL_ALGORITHM_SHAPE when rewards, mask and uid are not of one size; VERL_FIELD_MISSING without one of them. */
export function checkAdvantageInput(input: AdvantageInput): void {
  const { token_level_rewards, response_mask, uid } = input;
  const missing = ["token_level_rewards", "response_mask", "uid"].find((field) => input[field] === undefined);
  if (missing !== undefined) {
    throw new VerlError("VERL_FIELD_MISSING", `An advantage estimator was called without \`${missing}\`.`, {
      hint: "Every estimator takes token_level_rewards, response_mask and uid.",
    });
  }
  if (response_mask.shape.length !== 2 || !sameShape(token_level_rewards.shape, response_mask.shape)) {
    throw new VerlError(
      "VERL_ALGORITHM_SHAPE",
      `token_level_rewards is ${describe(token_level_rewards)} and response_mask is ${describe(response_mask)}.`,
      { hint: "Both are rows × response length." },
    );
  }
  if (uid.length === response_mask.rows) return;
  throw new VerlError(
    "VERL_ALGORITHM_SHAPE",
    `There are ${uid.length} uids for ${response_mask.rows} rows of token_level_rewards.`,
    { hint: "uid names the group of each row." },
  );
}

/** The error of an unmasked number that is NaN or infinite. @param what a score, a return, … */
export function notFinite(what: string, value: number, row: number): VerlError {
  return new VerlError("VERL_ALGORITHM_NOT_FINITE", `The ${what} of row ${row} is ${value}.`, {
    hint: "Mark rows whose reward is missing as unscored; every other number under the response mask must be finite.",
  });
}
