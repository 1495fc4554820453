import type { NdArray } from "../batch/nd-array.ts";

/**
 * Where the unmasked tokens of a batch stand, as runs: loops over runs need not look at the mask for every token, which makes them
 * several times faster than loops over elements.
 */
export interface TokenRuns {
  /** First element of each run, in order. */
  readonly starts: ArrayLike<number>;
  /** The element after the last one of each run. A run lies in one row. */
  readonly ends: ArrayLike<number>;
  /** First run of each row, and the number of runs behind the last. */
  readonly ofRow: Int32Array;
}

/** @param mask rows × width, of 32-bit numbers. */
export function tokenRuns(mask: NdArray): TokenRuns {
  const { rows, rowSize: width } = mask;
  const starts: number[] = [];
  const ends: number[] = [];
  const ofRow = new Int32Array(rows + 1);
  for (let row = 0; row < rows; row++) {
    const offset = row * width;
    const flags = (mask.data as Float32Array).subarray(offset, offset + width);
    for (let at = 0; at < width;) {
      while (at < width && flags[at] === 0) at++;
      if (at === width) break;
      starts.push(offset + at);
      const masked = flags.indexOf(0, at);
      at = masked < 0 ? width : masked;
      ends.push(offset + at);
    }
    ofRow[row + 1] = starts.length;
  }
  return { starts, ends, ofRow };
}

/** Σ of the elements from `start` on, before `end`: four sums side by side, for one would wait for itself. */
export function sumOf(values: Float32Array, start: number, end: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let at = start;
  for (; at + 3 < end; at += 4) {
    a += values[at]!;
    b += values[at + 1]!;
    c += values[at + 2]!;
    d += values[at + 3]!;
  }
  for (; at < end; at++) a += values[at]!;
  return a + b + (c + d);
}

/** Σ (x − mean)² of the elements from `start` on, before `end`. */
export function squaresOf(values: Float32Array, mean: number, start: number, end: number): number {
  let a = 0;
  let b = 0;
  let at = start;
  for (; at + 1 < end; at += 2) {
    const first = values[at]! - mean;
    const second = values[at + 1]! - mean;
    a += first * first;
    b += second * second;
  }
  if (at < end) a += (values[at]! - mean) ** 2;
  return a + b;
}
