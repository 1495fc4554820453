import type { NdArray } from "../batch/nd-array.ts";
import { notAMask } from "./not-a-mask.ts";

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

/** @param mask rows × width, of 32-bit numbers. @throws VERL_ALGORITHM_MASK for another flag than 0 and 1. */
export function tokenRuns(mask: NdArray): TokenRuns {
  const { rows, rowSize: width } = mask;
  const starts: number[] = [];
  const ends: number[] = [];
  const ofRow = new Int32Array(rows + 1);
  const leadingTokens = leadingTokensOf(mask);
  for (let row = 0; row < rows; row++) {
    const offset = row * width;
    const flags = (mask.data as Float32Array).subarray(offset, offset + width);
    const leading = leadingTokens(row);
    if (leading !== undefined && leading > 0) {
      starts.push(offset);
      ends.push(offset + leading);
    }
    for (let at = leading === undefined ? 0 : width; at < width;) {
      while (at < width && flags[at] === 0) at++;
      if (at === width) break;
      starts.push(offset + at);
      const first = at;
      const masked = flags.indexOf(0, at);
      at = masked < 0 ? width : masked;
      const odd = flags.subarray(first, at).findIndex((flag) => flag !== 1);
      if (odd >= 0) throw notAMask(flags[first + odd]!, row, first + odd);
      ends.push(offset + at);
    }
    ofRow[row + 1] = starts.length;
  }
  return { starts, ends, ofRow };
}

/**
 * Tokens of a row that is one run from its first column on, as answers without observations are; undefined for any other row. Memory is
 * compared as bytes, which is several times faster than looking at the flags one by one.
 */
function leadingTokensOf(mask: NdArray): (row: number) => number | undefined {
  const { rowSize: width } = mask;
  if (mask.dtype !== "float32") return () => undefined;
  const flags = mask.data as Float32Array;
  const bytes = bytesOf(flags);
  const ones = bytesOf(new Float32Array(width).fill(1));
  const zeros = Buffer.alloc(width * 4);
  return (row) => {
    const length = leadingOnes(flags, row * width, (row + 1) * width);
    const begin = row * width * 4;
    const end = begin + length * 4;
    const isRun =
      ones.compare(bytes, begin, end, 0, length * 4) === 0 &&
      zeros.compare(bytes, end, begin + width * 4, 0, (width - length) * 4) === 0;
    return isRun ? length : undefined;
  };
}

/** How many ones there are from `start` on, if all of them stand there and zeros behind them; a number that says nothing if not. */
function leadingOnes(flags: Float32Array, start: number, end: number): number {
  let [low, high] = [start, end];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (flags[middle] === 1) low = middle + 1;
    else high = middle;
  }
  return low - start;
}

const bytesOf = (values: Float32Array): Buffer => Buffer.from(values.buffer, values.byteOffset, values.byteLength);

/** Whether stretches of an array are all +0, compared as bytes; it holds as many zeros as its longest stretch has elements. */
export function zeroStretches(values: Float32Array, longest: number): (start: number, end: number) => boolean {
  const bytes = bytesOf(values);
  const zeros = Buffer.alloc(longest * 4);
  return (start, end) => zeros.compare(bytes, start * 4, end * 4, 0, (end - start) * 4) === 0;
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
