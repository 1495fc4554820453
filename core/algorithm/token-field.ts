import { NdArray } from "../batch/nd-array.ts";
import type { TokenRuns } from "./token-runs.ts";

/**
 * A field that is 0 wherever no token stands; its maker has to write every unmasked token. Nothing is written twice: these fields are
 * large, and estimators do little beside filling them.
 * @param shape rows × width of the mask that the runs are of. @param skip 1 for rows that are 0 altogether.
 */
export function tokenField(shape: readonly number[], runs: TokenRuns, skip?: ArrayLike<number>): NdArray<"float32"> {
  const field = NdArray.unwritten("float32", shape);
  clearMasked(field.data, field.rowSize, runs, skip);
  return field;
}

/** Writes 0 wherever no token stands, and nothing else. @param data as `tokenField` makes it, of rows so wide. */
export function clearMasked(
  data: Float32Array,
  width: number,
  { starts, ends, ofRow }: TokenRuns,
  skip?: ArrayLike<number>,
): void {
  for (let row = 0; row < ofRow.length - 1; row++) {
    let written = row * width;
    for (let run = ofRow[row]!; run < ofRow[row + 1]! && !skip?.[row]; run++) {
      data.fill(0, written, starts[run]);
      written = ends[run]!;
    }
    data.fill(0, written, (row + 1) * width);
  }
}
