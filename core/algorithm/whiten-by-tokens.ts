import { varianceOf, WHITEN_EPSILON } from "./masked-arrays.ts";

/**
 * Whitens one value a row as if it stood on each of the row's tokens, without writing it there.
 * @param lengths tokens of each row. @param counted 0 for rows that take no part and get 0.
 */
export function whitenByTokens(values: Float64Array, lengths: Int32Array, counted: Uint8Array): Float64Array {
  const weights = lengths.map((length, row) => (counted[row] ? length : 0));
  const count = weights.reduce((sum, weight) => sum + weight, 0);
  const mean = values.reduce((sum, value, row) => sum + weights[row]! * value, 0) / Math.max(count, 1);
  const squares = values.reduce((sum, value, row) => sum + weights[row]! * (value - mean) ** 2, 0);
  const scale = 1 / Math.sqrt(varianceOf({ count, mean, squares }) + WHITEN_EPSILON);
  return values.map((value, row) => (counted[row] ? (value - mean) * scale : 0));
}
