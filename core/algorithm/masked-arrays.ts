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

/** Two-pass variance, divided by n − 1 when unbiased; 0 where that leaves nothing to divide by. */
export function maskedVar(values: ArrayLike<number>, mask: ArrayLike<number>, unbiased = true): number {
  const mean = maskedMean(values, mask);
  let sum = 0;
  for (let i = 0; i < values.length; i++) if (mask[i] !== 0) sum += (values[i]! - mean) ** 2;
  const divisor = maskedCount(mask) - (unbiased ? 1 : 0);
  return divisor > 0 ? sum / divisor : 0;
}

/** (x − mean) / √(variance + 1e-8), 0 behind the mask. @param shiftMean false: the mean is added back. */
export function maskedWhiten(values: ArrayLike<number>, mask: ArrayLike<number>, shiftMean = true): Float32Array {
  const mean = maskedMean(values, mask);
  const scale = 1 / Math.sqrt(maskedVar(values, mask) + 1e-8);
  const whitened = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) {
    if (mask[i] !== 0) whitened[i] = (values[i]! - mean) * scale + (shiftMean ? 0 : mean);
  }
  return whitened;
}

/** Sum of each row's unmasked elements. @param values, mask rows × width, flat. */
export function maskedRowSums(values: ArrayLike<number>, mask: ArrayLike<number>, rows: number): Float64Array {
  const width = rows === 0 ? 0 : values.length / rows;
  const sums = new Float64Array(rows);
  for (let row = 0, at = 0; row < rows; row++) {
    for (const end = at + width; at < end; at++) if (mask[at] !== 0) sums[row]! += values[at]!;
  }
  return sums;
}
