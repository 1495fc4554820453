import type { Rng } from "../tensor/rng.ts";
import { notFinite } from "./check-advantage-input.ts";

/** `algorithm.pf_ppo`. */
export interface PfPpoConfig {
  /** `pow`: |score|^weight_pow. `max_min`: the best and the worst rows alone. `max_random`: 0.4 for the best rows, 0.1 for the others. */
  reweight_method: "pow" | "max_min" | "max_random";
  weight_pow: number;
}

/** Added to every weight, so that rows of weight 0 can stand in where nothing else is left. */
const FLOOR = 1e-8;

/**
 * Sampling weights of preference-filtered PPO (arXiv 2409.06957): rows whose reward says most are drawn more often.
 * @param scores of each row. @param left which rows take no part: their weight is 0, and they are neither best nor worst.
 * @throws VERL_ALGORITHM_NOT_FINITE for a score, or a power of it, that is not finite.
 */
export function pfPpoWeights(
  scores: ArrayLike<number>,
  { reweight_method, weight_pow }: PfPpoConfig,
  left: (row: number) => boolean = () => false,
): Float64Array {
  let [max, min] = [-Infinity, Infinity];
  for (let row = 0; row < scores.length; row++) {
    if (left(row)) continue;
    if (scores[row]! > max) max = scores[row]!;
    if (scores[row]! < min) min = scores[row]!;
  }
  const weigh = {
    pow: (score: number) => Math.abs(score) ** weight_pow,
    max_min: (score: number) => (score === max || score === min ? 1 : 0),
    max_random: (score: number) => (score === max ? 0.4 : 0.1),
  }[reweight_method];
  return Float64Array.from({ length: scores.length }, (_, row) => {
    if (left(row)) return 0;
    const score = scores[row]!;
    if (!Number.isFinite(score)) throw notFinite("score", score, row);
    const weight = weigh(score) + FLOOR;
    if (!Number.isFinite(weight)) throw notFinite("sampling weight", weight, row);
    return weight;
  });
}

/** As many row numbers as there are weights, each drawn by weight, with replacement. Weights of 0 alone give every row once. */
export function drawByWeight(weights: Float64Array, rng: Rng): Int32Array {
  const sums = new Float64Array(weights.length);
  let total = 0;
  let last = -1;
  weights.forEach((weight, row) => {
    if (weight > 0) last = row;
    sums[row] = total += weight;
  });
  if (last < 0) return Int32Array.from(weights.keys());
  return Int32Array.from(weights, () => Math.min(firstAbove(sums, rng.uniform() * total), last));
}

/** Index of the first element above `value` of an ascending array; its length where there is none. */
function firstAbove(ascending: Float64Array, value: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ascending[middle]! > value) high = middle;
    else low = middle + 1;
  }
  return low;
}
