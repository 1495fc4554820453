import * as tf from "@tensorflow/tfjs";
import { clipRange, selectUnmasked, VerlError, type PolicyLoss } from "verl";
import { CLIP_METRICS, fused } from "./fused.ts";

/** Bounds of the log-ratio, so that no exponential overflows. */
const MAX_LOG_RATIO = 20;

/**
 * PPO with a clipped ratio, and a second clip for negative advantages.
 *
 *     ρ = exp(log π_θ − log π_old)
 *     L = max(−A ρ, −A clip(ρ, 1 − ε_low, 1 + ε_high))
 *     where A < 0:  L ← min(L, −A c)
 *
 * Without the second line of clipping an answer that is bad and became likely would pull without bound.
 */
export const vanilla: PolicyLoss = {
  description: "PPO's clipped surrogate loss with dual clip.",
  paper: "PPO: arXiv 1707.06347, equation 7; dual clip: arXiv 1912.09729, equation 5",
  metrics: {
    "actor/pg_clipfrac": "Share of tokens whose ratio was clipped.",
    "actor/pg_clipfrac_lower": "Share of tokens that the second clip bounded.",
    "actor/ppo_kl": "Mean of log π_old − log π_θ.",
  },
  compute(input, config, agg) {
    const { clip_ratio_c } = config;
    if (!(clip_ratio_c > 1)) {
      throw new VerlError(
        "VERL_ALGORITHM_CONFIG",
        `clip_ratio_c is ${clip_ratio_c}; dual clip needs a number above 1.`,
        {
          location: { path: "actor_rollout_ref.actor.clip_ratio_c" },
          hint: "The paper and the default use 3.",
        },
      );
    }
    const clip = clipRange(config);
    const kernel = fused("vanilla", input, agg, CLIP_METRICS, { clip, first: clip_ratio_c });
    if (kernel) return kernel;

    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const logRatio = tf.clipByValue(inert(tf.sub(input.log_probs, input.old_log_probs)), -MAX_LOG_RATIO, MAX_LOG_RATIO);
    const ratio = tf.exp(logRatio);
    const gain = tf.neg(inert(input.advantages));
    const clippedRatio = tf.clipByValue(ratio, 1 - clip.low, 1 + clip.high);

    const plain = tf.mul(gain, ratio);
    const clipped = tf.mul(gain, clippedRatio);
    const worse = tf.maximum(plain, clipped);
    const ceiling = tf.mul(gain, clip_ratio_c);
    const negative = tf.greater(gain, 0);
    let loss = tf.where(negative, tf.minimum(worse, ceiling), worse) as tf.Tensor2D;
    if (input.rollout_is_weights) loss = tf.mul(loss, inert(input.rollout_is_weights));

    const share = (condition: tf.Tensor): tf.Scalar => agg.maskedMean(tf.cast(condition, "float32") as tf.Tensor2D);
    return {
      loss: agg(loss),
      metrics: {
        "actor/pg_clipfrac": share(tf.greater(clipped, plain)),
        "actor/pg_clipfrac_lower": share(tf.logicalAnd(tf.greater(worse, ceiling), negative)),
        "actor/ppo_kl": agg.maskedMean(tf.neg(logRatio)),
      },
    };
  },
};
