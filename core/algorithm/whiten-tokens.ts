import { varianceOf, WHITEN_EPSILON } from "./masked-arrays.ts";
import { squaresOf, sumOf, type TokenRuns } from "./token-runs.ts";

/**
 * (x − mean) / √(variance + 1e-8) of the unmasked tokens of scored rows, with n − 1.
 * @param into where the result goes, 0 elsewhere; may be `values`. @param unscored 1 for rows that take no part.
 */
export function whitenTokens(
  values: Float32Array,
  { starts, ends, ofRow }: TokenRuns,
  unscored: ArrayLike<number> | undefined,
  into: Float32Array,
): Float32Array {
  const eachRun = (body: (start: number, end: number) => void): void => {
    for (let row = 0; row < ofRow.length - 1; row++) {
      if (unscored?.[row]) continue;
      for (let run = ofRow[row]!; run < ofRow[row + 1]!; run++) body(starts[run]!, ends[run]!);
    }
  };
  let [count, sum, squares] = [0, 0, 0];
  eachRun((start, end) => {
    count += end - start;
    sum += sumOf(values, start, end);
  });
  const mean = sum / Math.max(count, 1);
  eachRun((start, end) => (squares += squaresOf(values, mean, start, end)));
  const scale = 1 / Math.sqrt(varianceOf({ count, mean, squares }) + WHITEN_EPSILON);
  eachRun((start, end) => {
    for (let at = start; at < end; at++) into[at] = (values[at]! - mean) * scale;
  });
  return into;
}
