import { VerlError } from "../errors/verl-error.ts";

/** The error of a mask that is none. */
export function notAMask(value: number, row: number, token: number): VerlError {
  return new VerlError(
    "VERL_ALGORITHM_MASK",
    `response_mask must be 0 or 1, but row ${row}, token ${token} holds ${value}.`,
    {
      hint: "Check that no other field was passed in its place.",
    },
  );
}
