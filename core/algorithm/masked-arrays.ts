/**
 * Statistics of the elements whose mask is not 0, on flat typed arrays, in float64. What stands behind the mask is never read into
 * a result, NaN included.
 */
export function maskedSum(values: ArrayLike<number>, mask: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) if (mask[i] !== 0) sum += values[i]!;
  return sum;
}

/** Number of elements whose mask is not 0. */
export function maskedCount(mask: ArrayLike<number>): number {
  let count = 0;
  for (let i = 0; i < mask.length; i++) if (mask[i] !== 0) count++;
  return count;
}

/** 0 for an empty mask. */
export function maskedMean(values: ArrayLike<number>, mask: ArrayLike<number>): number {
  return maskedSum(values, mask) / Math.max(maskedCount(mask), 1);
}

export interface Moments {
  readonly count: number;
  /** 0 for an empty mask. */
  readonly mean: number;
  /** Σ (x − mean)². */
  readonly squares: number;
}

/** Moments of the unmasked elements, in two passes. */
export function maskedMoments(values: ArrayLike<number>, mask: ArrayLike<number>): Moments {
  let count = 0;
  let sum = 0;
  for (let i = 0; i < values.length; i++) {
    if (mask[i] === 0) continue;
    count++;
    sum += values[i]!;
  }
  const mean = sum / Math.max(count, 1);
  let squares = 0;
  for (let i = 0; i < values.length; i++) {
    if (mask[i] === 0) continue;
    const off = values[i]! - mean;
    squares += off * off;
  }
  return { count, mean, squares };
}

/** Variance of moments, divided by n − 1 when unbiased; 0 where that leaves nothing to divide by. */
export function varianceOf({ count, squares }: Moments, unbiased = true): number {
  const divisor = count - (unbiased ? 1 : 0);
  return divisor > 0 ? squares / divisor : 0;
}

/** Two-pass variance of the unmasked elements. */
export function maskedVar(values: ArrayLike<number>, mask: ArrayLike<number>, unbiased = true): number {
  return varianceOf(maskedMoments(values, mask), unbiased);
}

/** Keeps an almost constant batch from being blown up. */
export const WHITEN_EPSILON = 1e-8;

/** (x − mean) / √(variance + 1e-8), 0 behind the mask. @param shiftMean false: the mean is added back. */
export function maskedWhiten(values: ArrayLike<number>, mask: ArrayLike<number>, shiftMean = true): Float32Array {
  const moments = maskedMoments(values, mask);
  const { mean } = moments;
  const scale = 1 / Math.sqrt(varianceOf(moments) + WHITEN_EPSILON);
  const shift = shiftMean ? 0 : mean;
  const whitened = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    if (mask[i] !== 0) whitened[i] = (values[i]! - mean) * scale + shift;
  }
  return whitened;
}

/** Sum of each row's unmasked elements. @param values rows × width, flat. @param mask likewise. */
export function maskedRowSums(values: ArrayLike<number>, mask: ArrayLike<number>, rows: number): Float64Array {
  const width = rows === 0 ? 0 : values.length / rows;
  const sums = new Float64Array(rows);
  for (let row = 0, at = 0; row < rows; row++) {
    for (const end = at + width; at < end; at++) if (mask[at] !== 0) sums[row]! += values[at]!;
  }
  return sums;
}
