import * as tf from "@tensorflow/tfjs";
import { VerlError } from "verl";

/** 1 GiB of float32. */
const MOST_ELEMENTS = 2 ** 28;

/**
 * Log-probs of the whole vocabulary, for what needs the distribution itself.
 * @param hidden [tokens, width] @param head [vocabulary, width] @returns [tokens, vocabulary]
 * @throws VERL_ENGINE_BATCH when that would not be small.
 */
export function logSoftmax(hidden: tf.Tensor2D, head: tf.Tensor2D, temperature: number): tf.Tensor2D {
  const [tokens, vocabulary] = [hidden.shape[0], head.shape[0]];
  if (tokens * vocabulary > MOST_ELEMENTS) {
    throw new VerlError(
      "VERL_ENGINE_BATCH",
      `The log-probs of all ${vocabulary} tokens of the vocabulary at ${tokens} positions do not fit: more than 1 GiB.`,
      { hint: "Take smaller micro-batches, or a KL estimator that reads the sampled token alone, such as low_var_kl." },
    );
  }
  const logits = tf.div(tf.matMul(hidden, head, false, true), temperature);
  return tf.sub(logits, tf.logSumExp(logits, -1, true));
}
