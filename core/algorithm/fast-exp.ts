/** 2^(j/256) for a j below 256. */
const FRACTIONS = Float64Array.from({ length: 256 }, (_, j) => 2 ** (j / 256));
/** 2^(k − 1023). */
const POWERS = Float64Array.from({ length: 2047 }, (_, k) => 2 ** (k - 1023));
const PER_STEP = 256 / Math.LN2;
const STEP = Math.LN2 / 256;
/** Added and taken away again, it leaves the nearest integer. */
const ROUND = 1.5 * 2 ** 52;

/**
 * e^x, to a relative error of 3e-13, in loops over tokens: `Math.exp` is called out of compiled code, where this becomes part of the loop.
 *
 *     n = x · 256 / ln 2, rounded        e^x = 2^(n / 256) · e^r,    |r| ≤ ln 2 / 512
 */
export function fastExp(x: number): number {
  // Neither NaN nor what overflows or is denormal.
  if (!(Math.abs(x) < 700)) return Math.exp(x);
  const rounded = x * PER_STEP + ROUND - ROUND;
  const r = x - rounded * STEP;
  const n = rounded | 0;
  return (1 + r * (1 + r * (1 / 2 + r * (1 / 6)))) * FRACTIONS[n & 255]! * POWERS[(n >> 8) + 1023]!;
}
