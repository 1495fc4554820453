import type { NdArray } from "../batch/nd-array.ts";

/**
 * The response mask without the rows of which nothing is learnt: without a token they are in no loss, and in no denominator of one.
 * @param left 1 for rows that are left out. @returns the very same array where there are none.
 */
export function learntMask(mask: NdArray<"int32">, left: Uint8Array): NdArray<"int32"> {
  if (!left.includes(1)) return mask;
  const learnt = mask.copy();
  left.forEach((flag, row) => {
    if (flag === 1) learnt.data.fill(0, row * mask.rowSize, (row + 1) * mask.rowSize);
  });
  return learnt;
}
