import { createRng, type RowDistributions, type TokenStatistic } from "verl";
import * as tf from "@tensorflow/tfjs";

export const NAMES: readonly TokenStatistic[] = ["log_probs", "entropy", "log_sum_exp", "sum_pi_squared"];
/** Upstream gradients of the four outputs. */
export const SLOPES = [0.7, -1.1, 0.3, 2.5] as const;

export const listed = (rows: RowDistributions): tf.Tensor1D[] => NAMES.map((name) => rows[name]);

export const weightedSum = (rows: RowDistributions): tf.Scalar =>
  tf.addN(listed(rows).map((row, i) => tf.sum<tf.Scalar>(tf.mul(row, SLOPES[i]!))));

export function matrix(rows: number, columns: number, seed: number, scale: number): Float32Array {
  const rng = createRng(seed);
  return Float32Array.from({ length: rows * columns }, () => scale * rng.normal());
}

export const targetsOf = (rows: number, columns: number): Int32Array =>
  Int32Array.from({ length: rows }, (_, row) => (row * 7919) % columns);

/** The four numbers of a row and the gradient of their weighted sum, in float64. */
export function reference(logits: ArrayLike<number>, target: number, temperature: number) {
  const z = Float64Array.from(logits, (value) => value / temperature);
  const top = z.reduce((a, b) => Math.max(a, b));
  const best = z.indexOf(top);
  // Without the best token, for next to 1 its digits are lost in float64 too.
  const rest = z.reduce((sum, value, j) => (j === best ? sum : sum + Math.exp(value - top)), 0);
  const logMass = Math.log1p(rest);
  let [entropy, square, spread] = [0, 0, 0];
  for (const value of z) {
    const logProb = value - top - logMass;
    const p = Math.exp(logProb);
    if (p > 0) entropy -= p * logProb;
    square += p * p;
    spread -= p * Math.expm1(logProb);
  }
  const [a, b, c, d] = SLOPES;
  const gradient = Float64Array.from(z, (value, j) => {
    const logProb = value - top - logMass;
    const p = Math.exp(logProb);
    if (p === 0) return (j === target ? a : 0) / temperature;
    const excess = p > 0.5 ? spread + Math.expm1(logProb) : p - square;
    const own = p * (c - b * (logProb + entropy) + 2 * d * excess);
    return (own - (j === target ? a * Math.expm1(logProb) : a * p)) / temperature;
  });
  return { outputs: [z[target]! - top - logMass, entropy, top + logMass, square], gradient };
}
