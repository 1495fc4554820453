import * as tf from "@tensorflow/tfjs";
import type { Aggregate } from "./policy-loss.ts";

/** Share of the step's unmasked tokens for which a condition holds; for metrics. @param condition rows × response length, boolean. */
export function tokenShare(agg: Aggregate, condition: tf.Tensor): tf.Scalar {
  return agg.maskedMean(tf.cast(condition, "float32") as tf.Tensor2D);
}
