import * as tf from "@tensorflow/tfjs";
import type { KlPenalty } from "../algorithm/kl-penalty.ts";
import { registries } from "../registry/index.ts";

/**
 * The KL estimator under a key. A `+` after the key keeps its value and takes the gradient of ½(log π_θ − log π_ref)², the unbiased one.
 * @throws VERL_REGISTRY_KEY_UNKNOWN
 */
export function resolveKlPenalty(key: string): Pick<KlPenalty, "compute"> {
  if (!key.endsWith("+")) return registries.kl_penalty.resolve(key);
  const estimator = registries.kl_penalty.resolve(key.slice(0, -1));
  return {
    compute(logProb, refLogProb) {
      const surrogate = tf.mul(0.5, tf.square(tf.sub(logProb, refLogProb)));
      return tf.add(surrogate, detached(tf.sub(estimator.compute(logProb, refLogProb), surrogate)));
    },
  };
}

/** The same value without a gradient. */
const detached = tf.customGrad((x: unknown) => {
  const value = tf.clone(x as tf.Tensor2D);
  return { value, gradFunc: (dy: tf.Tensor) => tf.zerosLike(dy) };
}) as (x: tf.Tensor2D) => tf.Tensor2D;
