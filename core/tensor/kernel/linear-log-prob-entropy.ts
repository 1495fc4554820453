import * as tf from "@tensorflow/tfjs";
import { callKernel, ensureGradient, hasKernel } from "./call.ts";
import { requireShape } from "./require-shape.ts";
import type { RowDistributions } from "./log-prob-entropy.ts";

/** Kernel: inputs `hidden`, `weight`, `targets`; attributes `LinearLogProbAttrs`; outputs as of `LogProbEntropy`. */
export const LINEAR_LOG_PROB_ENTROPY = "LinearLogProbEntropy";
/** Kernel: inputs those of `LinearLogProbEntropy` and what `LogProbEntropyGradient` reads besides; outputs: gradients of `hidden` and `weight`. */
export const LINEAR_LOG_PROB_ENTROPY_GRADIENT = "LinearLogProbEntropyGradient";

export interface LinearLogProbAttrs extends tf.NamedAttrMap {
  /** Logits are divided by it. */
  temperature: number;
  /** Logits that may exist at once; 0: the kernel's own choice. */
  pieceElements: number;
}

/** What can be known of the next-token distribution without keeping it: each [tokens]. */
export type TokenStatistic = keyof RowDistributions;

export interface LinearLogProbOptions {
  /** Logits are divided by it. */
  temperature: number;
  /** Elements of a [tokens, vocabulary] piece that may exist at once; larger products go in vocabulary chunks. Default: the backend's. */
  pieceElements?: number;
}

/** 16 MiB, about what a core's caches hold. */
const PIECE_ELEMENTS = 2 ** 22;
/** In the order of the kernels' outputs. */
const OUTPUTS: readonly TokenStatistic[] = ["log_probs", "entropy", "log_sum_exp", "sum_pi_squared"];

type Saved = [
  x: tf.Tensor2D,
  w: tf.Tensor2D,
  column: tf.Tensor2D,
  max: tf.Tensor,
  logMass: tf.Tensor,
  value: tf.Tensor2D,
];

/**
 * Log-prob of each target, and on request the entropy, log-sum-exp and Σπ² of each distribution, of softmax(hidden · weightᵀ / temperature).
 * Logits are made in chunks of the vocabulary and folded by an online log-sum-exp (Milakov & Gimelshein 2018); the backward pass makes
 * them again from the saved normaliser, so no [tokens, vocabulary] matrix outlives its chunk. Differentiable in hidden and weight.
 * @param hidden [tokens, width]
 * @param weight [vocabulary, width]
 * @param targets int32 [tokens], in [0, vocabulary)
 * @throws VERL_TENSOR_SHAPE
 */
export function linearLogProbEntropy<S extends TokenStatistic>(
  hidden: tf.Tensor2D,
  weight: tf.Tensor2D,
  targets: tf.Tensor1D,
  wanted: readonly S[],
  { temperature, pieceElements }: LinearLogProbOptions,
): Record<S, tf.Tensor1D> {
  requireShape("targets", targets, hidden.shape.slice(0, 1));
  requireShape("weight", weight, [weight.shape[0], hidden.shape[1]]);
  if (!hasKernel(LINEAR_LOG_PROB_ENTROPY, { hidden, weight, targets })) {
    return composedLinearLogProbEntropy(hidden, weight, targets, wanted, { temperature, pieceElements });
  }
  ensureGradient(gradient);
  const attrs: LinearLogProbAttrs = { temperature, pieceElements: pieceElements ?? 0 };
  const outputs = callKernel(LINEAR_LOG_PROB_ENTROPY, { hidden, weight, targets }, attrs);
  return Object.fromEntries(wanted.map((name) => [name, outputs[OUTPUTS.indexOf(name)]!])) as Record<S, tf.Tensor1D>;
}

const gradient: tf.GradConfig = {
  kernelName: LINEAR_LOG_PROB_ENTROPY,
  inputsToSave: ["hidden", "weight", "targets"],
  outputsToSave: [false, true, false, true, true],
  gradFunc(dOutputs, [hidden, weight, targets, entropy, sumPiSquared, normaliser], attrs) {
    const [dLogProb, dEntropy, dLogSumExp, dSumPiSquared] = dOutputs as tf.Tensor[];
    const saved = { hidden, weight, targets, entropy, normaliser, sumPiSquared };
    const inputs = { ...saved, dLogProb, dEntropy, dLogSumExp, dSumPiSquared };
    const gradients = callKernel(LINEAR_LOG_PROB_ENTROPY_GRADIENT, inputs, attrs);
    return { hidden: () => gradients[0]!, weight: () => gradients[1]! };
  },
};

/** The same by tfjs' operations, also in chunks. */
export function composedLinearLogProbEntropy<S extends TokenStatistic>(
  hidden: tf.Tensor2D,
  weight: tf.Tensor2D,
  targets: tf.Tensor1D,
  wanted: readonly S[],
  { temperature, pieceElements = PIECE_ELEMENTS }: LinearLogProbOptions,
): Record<S, tf.Tensor1D> {
  const tokens = hidden.shape[0];
  const chunks = vocabularyChunks(weight.shape[0], Math.max(1, Math.floor(pieceElements / tokens)));
  const column: tf.Tensor2D = tf.reshape(targets, [tokens, 1]);
  const scaled = temperature === 1 ? hidden : tf.mul<tf.Tensor2D>(hidden, 1 / temperature);

  const op = tf.customGrad((...inputs) => {
    const [x, w, save] = inputs as [tf.Tensor2D, tf.Tensor2D, (tensors: tf.Tensor[]) => void];
    const { max, logMass, outputs } = fold(x, w, column, chunks, wanted);
    const value = tf.stack(outputs.map((output) => tf.reshape(output, [tokens])));
    save([x, w, column, max, logMass, value]);
    const gradFunc = (dy: tf.Tensor, saved: tf.Tensor[]) => {
      const [x, w, column, max, logMass, value] = saved as Saved;
      const row = (matrix: tf.Tensor2D, name: TokenStatistic): tf.Tensor2D | undefined => {
        const index = (wanted as readonly TokenStatistic[]).indexOf(name);
        return index < 0 ? undefined : tf.reshape(tf.slice(matrix, [index, 0], [1, tokens]), [tokens, 1]);
      };
      const dLogProb = row(dy as tf.Tensor2D, "log_probs");
      const dEntropy = row(dy as tf.Tensor2D, "entropy");
      const dLogSumExp = row(dy as tf.Tensor2D, "log_sum_exp");
      const dSumPiSquared = row(dy as tf.Tensor2D, "sum_pi_squared");
      const dx: tf.Tensor[] = [];
      const dw: tf.Tensor[] = [];
      for (const chunk of chunks) {
        const { logits, part, isTarget } = chunkLogits(x, w, column, chunk);
        const logProb = tf.sub(tf.sub(logits, max), logMass);
        const probability = tf.exp(logProb);
        const terms: tf.Tensor[] = [];
        if (dLogProb) terms.push(tf.mul(tf.sub(isTarget, probability), dLogProb));
        if (dEntropy)
          terms.push(tf.mul(tf.mul(probability, tf.add(logProb, row(value, "entropy")!)), tf.neg(dEntropy)));
        if (dLogSumExp) terms.push(tf.mul(probability, dLogSumExp));
        if (dSumPiSquared) {
          const excess = tf.sub(probability, row(value, "sum_pi_squared")!);
          terms.push(tf.mul(tf.mul(probability, excess), tf.mul(dSumPiSquared, 2)));
        }
        const dLogits = (terms.length === 1 ? terms[0]! : tf.addN(terms)) as tf.Tensor2D;
        dx.push(tf.matMul(dLogits, part));
        dw.push(tf.matMul(dLogits, x, true, false));
      }
      return [dx.length === 1 ? dx[0]! : tf.addN(dx), dw.length === 1 ? dw[0]! : tf.concat(dw, 0)];
    };
    return { value, gradFunc };
  });

  const stacked = op(scaled, weight);
  const named = wanted.map((name, i) => [name, tf.reshape(tf.slice(stacked, [i, 0], [1, tokens]), [tokens])] as const);
  return Object.fromEntries(named) as Record<S, tf.Tensor1D>;
}

interface Chunk {
  start: number;
  size: number;
}

/** Equal chunks, so that their graphs look alike. */
function vocabularyChunks(vocabulary: number, limit: number): Chunk[] {
  const size = Math.ceil(vocabulary / Math.ceil(vocabulary / limit));
  const chunks: Chunk[] = [];
  for (let start = 0; start < vocabulary; start += size)
    chunks.push({ start, size: Math.min(size, vocabulary - start) });
  return chunks;
}

function chunkLogits(x: tf.Tensor2D, head: tf.Tensor2D, targets: tf.Tensor2D, { start, size }: Chunk) {
  const part = size === head.shape[0] ? head : tf.slice(head, [start, 0], [size, -1]);
  const ids = tf.reshape(tf.range(start, start + size, 1, "int32"), [1, size]);
  return { part, logits: tf.matMul(x, part, false, true), isTarget: tf.cast(tf.equal(targets, ids), "float32") };
}

/**
 * Running maximum m and sums of e^d, d·e^d and e^2d over the chunks, where d = z − m: sums of z itself, and the log-sum-exp, would round where
 * logits are large.
 */
function fold(
  x: tf.Tensor2D,
  head: tf.Tensor2D,
  targets: tf.Tensor2D,
  chunks: readonly Chunk[],
  wanted: readonly TokenStatistic[],
) {
  let max: tf.Tensor | undefined;
  let [mass, weighted, squared, chosen]: (tf.Tensor | undefined)[] = [];
  const plus = (old: tf.Tensor | undefined, added: tf.Tensor): tf.Tensor => (old ? tf.add(old, added) : added);
  const sum = (values: tf.Tensor): tf.Tensor => tf.sum(values, 1, true);
  for (const chunk of chunks) {
    const { logits, isTarget } = chunkLogits(x, head, targets, chunk);
    const chunkMax = tf.max(logits, 1, true);
    const newMax: tf.Tensor = max ? tf.maximum(max, chunkMax) : chunkMax;
    const d = tf.sub(logits, newMax);
    const e = tf.exp(d);
    if (max) {
      const fall = tf.sub(max, newMax);
      const shrink = tf.exp(fall);
      weighted = weighted && tf.mul(tf.add(weighted, tf.mul(fall, mass!)), shrink);
      squared = squared && tf.mul(squared, tf.square(shrink));
      mass = tf.mul(mass!, shrink);
    }
    mass = plus(mass, sum(e));
    if (wanted.includes("entropy")) weighted = plus(weighted, sum(tf.mul(e, d)));
    if (wanted.includes("sum_pi_squared")) squared = plus(squared, sum(tf.square(e)));
    chosen = plus(chosen, sum(tf.mul(logits, isTarget)));
    max = newMax;
  }
  const logMass = tf.log(mass!);
  const outputs = wanted.map((name) => {
    if (name === "log_probs") return tf.sub(tf.sub(chosen!, max!), logMass);
    if (name === "log_sum_exp") return tf.add(max!, logMass);
    if (name === "entropy") return tf.sub(logMass, tf.div(weighted!, mass!));
    return tf.div(squared!, tf.square(mass!));
  });
  return { max: max!, logMass, outputs };
}
