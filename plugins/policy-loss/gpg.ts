import * as tf from "@tensorflow/tfjs";
import { selectUnmasked, type PolicyLoss } from "verl";
import { fused } from "./fused.ts";

/**
 * Group policy gradient: the plain policy gradient of the advantage, with no ratio and no clip. Pair it with the estimator `gpg`.
 *
 *     L = −A log π_θ
 */
export const gpg: PolicyLoss = {
  description: "Plain policy gradient: minus advantage times log-probability.",
  paper: "GPG, arXiv 2504.02546",
  compute(input, _config, agg) {
    const kernel = fused("gpg", input, agg, []);
    if (kernel) return kernel;
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    // The aggregation selects; the gradient in log_probs is −A, which is inert.
    let loss: tf.Tensor2D = tf.mul(tf.neg(inert(input.advantages)), input.log_probs);
    if (input.rollout_is_weights) loss = tf.mul(loss, inert(input.rollout_is_weights));
    return { loss: agg(loss), metrics: {} };
  },
};
