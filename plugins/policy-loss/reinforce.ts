import * as tf from "@tensorflow/tfjs";
import { selectUnmasked, type PolicyLoss } from "verl";
import { fused } from "./fused.ts";

/**
 * The policy gradient itself, without a ratio and so without clipping. Importance weights, where rollout correction gives them, make
 * up for a sampler that is not quite π_θ.
 *
 *     L = −A log π_θ · w        w = 1 without rollout correction
 */
export const reinforce: PolicyLoss = {
  description: "Policy gradient without clipping, weighted by rollout correction where that is on.",
  paper: 'Williams, "Simple Statistical Gradient-Following Algorithms" (1992), section 4',
  metrics: { "actor/ppo_kl": "Mean of log π_old − log π_θ." },
  compute(input, _config, agg) {
    const kernel = fused("reinforce", input, agg, [undefined, undefined, "actor/ppo_kl"]);
    if (kernel) return kernel;
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const logProbs = inert(input.log_probs);
    let gain: tf.Tensor2D = tf.mul(inert(input.advantages), logProbs);
    if (input.rollout_is_weights) gain = tf.mul(gain, inert(input.rollout_is_weights));
    return {
      loss: agg(tf.neg(gain)),
      metrics: { "actor/ppo_kl": agg.maskedMean(tf.sub(inert(input.old_log_probs), logProbs)) },
    };
  },
};
