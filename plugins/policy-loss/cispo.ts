import * as tf from "@tensorflow/tfjs";
import { clipRange, selectUnmasked, tokenShare, withoutGradient, type PolicyLoss } from "verl";
import { CLIP_METRICS, fused } from "./fused.ts";

/** Bounds of the log-ratio, so that no exponential overflows. */
const MAX_LOG_RATIO = 20;

/**
 * Clipped importance weights: the weight is clipped, the token is not, so that rare and telling tokens keep their gradient.
 *
 *     ρ = exp(log π_θ − log π_old)
 *     L = −sg(clip(ρ, 1 − ε_low, 1 + ε_high)) · A · log π_θ        sg: no gradient
 */
export const cispo: PolicyLoss = {
  description: "Policy gradient with clipped importance weights.",
  paper: "MiniMax-M1, arXiv 2506.13585, equations 4 and 5",
  metrics: {
    "actor/pg_clipfrac": "Share of tokens whose importance weight was clipped.",
    "actor/pg_clipfrac_lower": "Always 0: there is no second clip.",
    "actor/ppo_kl": "Mean of log π_old − log π_θ.",
  },
  compute(input, config, agg) {
    const kernel = fused("cispo", input, agg, CLIP_METRICS, { clip: clipRange(config) });
    if (kernel) return kernel;
    const { low, high } = clipRange(config);
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const constant = withoutGradient;
    const logRatio = constant(() =>
      tf.clipByValue(inert(tf.sub(input.log_probs, input.old_log_probs)), -MAX_LOG_RATIO, MAX_LOG_RATIO),
    );
    const ratio = constant(() => tf.exp(logRatio));
    const weights = constant(() => tf.clipByValue(ratio, 1 - low, 1 + high));
    // The aggregation selects; the gradient in log_probs is −clip(ρ) A, which is inert.
    let loss: tf.Tensor2D = tf.mul(tf.mul(tf.neg(weights), inert(input.advantages)), input.log_probs);
    if (input.rollout_is_weights) loss = tf.mul(loss, inert(input.rollout_is_weights));
    return {
      loss: agg(loss),
      metrics: {
        "actor/pg_clipfrac": tokenShare(agg, tf.notEqual(ratio, weights)),
        "actor/pg_clipfrac_lower": tf.scalar(0),
        "actor/ppo_kl": agg.maskedMean(tf.neg(logRatio)),
      },
    };
  },
};
