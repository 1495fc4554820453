import * as tf from "@tensorflow/tfjs";

/** How each row of a batch samples; one entry a row. */
export interface RowSampling {
  /** float32 [rows, 1]: 1/temperature; 1 for greedy rows. */
  inverseTemperature: tf.Tensor2D;
  /** bool [rows] where some rows are greedy and others not. */
  greedy: tf.Tensor1D | "all" | "none";
  /** Present when some row limits its choice. */
  limits: { topK: tf.Tensor2D; topP: tf.Tensor2D; candidates: number } | undefined;
}

export interface SampledTokens {
  /** int32 [rows]. */
  ids: tf.Tensor1D;
  /** float32 [rows]: log-prob under the temperature, before top-k and top-p. */
  logprobs: tf.Tensor1D;
}

/**
 * One token a row, by inverting the cumulative distribution at a uniform number that the caller drew: the same number and the same
 * logits give the same token, whatever else is in the batch.
 * @param logits [rows, vocabulary]
 * @param uniform [rows, 1] in [0, 1) with at most 23 bits, so that uniform · total stays below total in float32
 */
export function sampleTokens(logits: tf.Tensor2D, uniform: tf.Tensor2D, rows: RowSampling): SampledTokens {
  const vocabulary = logits.shape[1];
  const scaled = tf.mul<tf.Tensor2D>(logits, rows.inverseTemperature);
  const max = tf.max(scaled, 1, true);
  const mass = tf.exp(tf.sub<tf.Tensor2D>(scaled, max));
  const ids = pick(logits, scaled, mass, uniform, rows);
  const chosen = tf.sum(tf.mul(scaled, tf.oneHot(ids, vocabulary)), 1, true);
  const logprobs = tf.sub(tf.sub(chosen, max), tf.log(tf.sum(mass, 1, true)));
  return { ids, logprobs: tf.reshape(logprobs, [-1]) };
}

function pick(
  logits: tf.Tensor2D,
  scaled: tf.Tensor2D,
  mass: tf.Tensor2D,
  uniform: tf.Tensor2D,
  { greedy, limits }: RowSampling,
): tf.Tensor1D {
  if (greedy === "all") return tf.argMax(logits, 1);
  const random = invert(limits ? withinLimits(scaled, mass, limits) : mass, uniform);
  return greedy === "none" ? random : tf.where(greedy, tf.argMax<tf.Tensor1D>(logits, 1), random);
}

/** Index of the first entry whose cumulative mass exceeds uniform · total. */
function invert(mass: tf.Tensor2D, uniform: tf.Tensor2D): tf.Tensor1D {
  const cumulative = tf.cumsum<tf.Tensor2D>(mass, 1);
  const total = tf.slice(cumulative, [0, mass.shape[1] - 1], [-1, 1]);
  return tf.sum(tf.cast(tf.lessEqual(cumulative, tf.mul(uniform, total)), "int32"), 1);
}

/**
 * The mass of the `top_k` likeliest tokens, and of these of the fewest that hold `top_p` of it; 0 elsewhere. Sorting finds only the
 * least logit to keep, so tokens keep their order, and rows without limits sample as they would in a batch without any.
 */
function withinLimits(
  scaled: tf.Tensor2D,
  mass: tf.Tensor2D,
  { topK, topP, candidates }: NonNullable<RowSampling["limits"]>,
): tf.Tensor2D {
  const { values } = tf.topk(scaled, candidates, true);
  const sorted = tf.exp(tf.sub(values, tf.slice(values, [0, 0], [-1, 1])));
  const rank = tf.reshape(tf.range(0, candidates, 1, "int32"), [1, candidates]);
  const likeliest = tf.where(tf.less(rank, topK), sorted, tf.zerosLike(sorted));
  const before = tf.cumsum(likeliest, 1, true);
  const kept = tf.logicalAnd(tf.less(rank, topK), tf.less(before, tf.mul(topP, tf.sum(likeliest, 1, true))));
  const least = tf.min(tf.where(kept, values, tf.fill(values.shape, Infinity)), 1, true);
  return tf.where(tf.greaterEqual(scaled, least), mass, tf.zerosLike(mass));
}
