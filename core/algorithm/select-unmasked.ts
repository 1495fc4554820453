import * as tf from "@tensorflow/tfjs";

/**
 * `x` where the mask is 1, else 0: by selection, so that NaN or ∞ behind the mask reaches neither the value nor the gradient. Losses
 * select their inputs before any arithmetic, for the gradient of exp(NaN) times 0 is NaN again.
 */
export function selectUnmasked<T extends tf.Tensor>(x: T, mask: tf.Tensor): T {
  return tf.where(tf.greater(mask, 0), x, tf.zerosLike(x));
}
