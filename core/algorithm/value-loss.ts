import * as tf from "@tensorflow/tfjs";
import type { Aggregate } from "./policy-loss.ts";
import { selectUnmasked } from "./select-unmasked.ts";

/** Each rows × response length. */
export interface ValueLossInput {
  /** What the critic says now; the loss is differentiated by it. */
  vpreds: tf.Tensor2D;
  /** What it said when the answers were sampled. */
  values: tf.Tensor2D;
  /** What it should have said. */
  returns: tf.Tensor2D;
}

/**
 * The critic's clipped squared error (PPO2; Engstrom et al. 2020, arXiv 2005.12729, section 3).
 *
 *     V_clip = clip(V, V_old − c, V_old + c)
 *     L = ½ · agg(max((V − R)², (V_clip − R)²))
 *
 * @param cliprange c, `critic.cliprange_value`.
 * @param agg aggregation with the denominators of the whole optimizer step, so that no split changes the gradient.
 * @returns the loss and its metrics: `critic/vf_loss`, `critic/vf_clipfrac` (share of tokens where the clipped error is the larger)
 *   and `critic/vpred_mean`.
 */
export function valueLoss(
  { vpreds, values, returns }: ValueLossInput,
  cliprange: number,
  agg: Aggregate,
): { loss: tf.Scalar; metrics: Record<string, tf.Scalar> } {
  const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
  const [current, old, target] = [inert(vpreds), inert(values), inert(returns)];
  // By minimum and maximum, not as old + clip(current − old): a value within the range then stays itself to the bit.
  const clipped = tf.minimum<tf.Tensor2D>(tf.maximum(current, tf.sub(old, cliprange)), tf.add(old, cliprange));
  const plainError = tf.square<tf.Tensor2D>(tf.sub(current, target));
  const clippedError = tf.square<tf.Tensor2D>(tf.sub(clipped, target));
  const loss = tf.mul<tf.Scalar>(agg(tf.maximum(plainError, clippedError)), 0.5);
  return {
    loss,
    metrics: {
      "critic/vf_loss": loss,
      "critic/vf_clipfrac": agg.maskedMean(tf.cast(tf.greater(clippedError, plainError), "float32")),
      "critic/vpred_mean": agg.maskedMean(current),
    },
  };
}
