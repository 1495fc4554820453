/** Plain statistics in float64, all of non-empty arrays. */

export function mean(values: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

export function max(values: Float64Array): number {
  let result = -Infinity;
  for (let i = 0; i < values.length; i++) if (values[i]! > result) result = values[i]!;
  return result;
}

export function min(values: Float64Array): number {
  let result = Infinity;
  for (let i = 0; i < values.length; i++) if (values[i]! < result) result = values[i]!;
  return result;
}

/** Standard deviation with ddof 1, in two passes; 0 for a single value. */
export function std(values: Float64Array): number {
  const center = mean(values);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += (values[i]! - center) ** 2;
  return values.length > 1 ? Math.sqrt(sum / (values.length - 1)) : 0;
}

/** Mean and variance (ddof 0, two passes) of the values clamped to [low, high]. */
export function boundedMoments(values: Float64Array, low: number, high: number): { mean: number; variance: number } {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += clamp(values[i]!, low, high);
  const center = total / values.length;
  let squares = 0;
  for (let i = 0; i < values.length; i++) squares += (clamp(values[i]!, low, high) - center) ** 2;
  return { mean: center, variance: squares / values.length };
}

/** Share of values above a bound. */
export function shareAbove(values: Float64Array, bound: number): number {
  let count = 0;
  for (let i = 0; i < values.length; i++) if (values[i]! > bound) count++;
  return count / values.length;
}

/** Share of values below a bound. */
export function shareBelow(values: Float64Array, bound: number): number {
  let count = 0;
  for (let i = 0; i < values.length; i++) if (values[i]! < bound) count++;
  return count / values.length;
}

export const clamp = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high);

/** Sum of each row's tokens. @param starts first token of each row, and the count. */
export function rowSums(values: Float64Array, starts: Int32Array): Float64Array {
  const sums = new Float64Array(starts.length - 1);
  for (let row = 0; row < sums.length; row++) {
    let sum = 0;
    for (let i = starts[row]!; i < starts[row + 1]!; i++) sum += values[i]!;
    sums[row] = sum;
  }
  return sums;
}

export function rowMeans(values: Float64Array, starts: Int32Array): Float64Array {
  const means = rowSums(values, starts);
  for (let row = 0; row < means.length; row++) means[row]! /= starts[row + 1]! - starts[row]!;
  return means;
}

export function rowMaxima(values: Float64Array, starts: Int32Array): Float64Array {
  const maxima = new Float64Array(starts.length - 1);
  for (let row = 0; row < maxima.length; row++) maxima[row] = max(values.subarray(starts[row], starts[row + 1]));
  return maxima;
}

/** Each row's value at all of its tokens. */
export function overTokens(rowValues: Float64Array, starts: Int32Array): Float64Array {
  const values = new Float64Array(starts.at(-1)!);
  for (let row = 0; row < rowValues.length; row++) values.fill(rowValues[row]!, starts[row], starts[row + 1]);
  return values;
}
