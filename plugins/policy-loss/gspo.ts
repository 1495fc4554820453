import * as tf from "@tensorflow/tfjs";
import { clipRange, selectUnmasked, straightThrough, tokenShare, withoutGradient, type PolicyLoss } from "verl";
import { CLIP_METRICS, fused } from "./fused.ts";

/** Bound of a sequence's log-ratio, so that no exponential overflows. */
const MAX_LOG_RATIO = 10;

/**
 * Group sequence policy optimization: one ratio an answer, the geometric mean of its tokens' ratios, for it is the answer that was
 * rewarded.
 *
 *     q_i = Σ_t (log π_θ − log π_old) / tokens_i
 *     ρ_{i,t} = exp(sg(q_i) + log π_θ − sg(log π_θ))        sg: no gradient
 *     L = max(−A ρ, −A clip(ρ, 1 − ε_low, 1 + ε_high)),     mean over tokens, then over answers
 *
 * Clip ranges are much narrower than PPO's: the paper uses 3e-4 and 4e-4.
 */
export const gspo: PolicyLoss = {
  description: "Clipped surrogate loss with one importance ratio an answer.",
  paper: "GSPO, arXiv 2507.18071, equations 5, 7 and 14",
  metrics: {
    "actor/pg_clipfrac": "Share of tokens whose answer's ratio was clipped.",
    "actor/pg_clipfrac_lower": "Always 0: there is no second clip.",
    "actor/ppo_kl": "Mean of log π_old − log π_θ.",
  },
  compute(input, config, agg) {
    const kernel = fused("gspo", input, agg, CLIP_METRICS, { clip: clipRange(config), mode: "seq-mean-token-mean" });
    if (kernel) return kernel;
    const { low, high } = clipRange(config);
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const logProbs = inert(input.log_probs);
    const kl: tf.Tensor2D = withoutGradient(() => tf.sub(inert(input.old_log_probs), logProbs));
    const sequence = withoutGradient(() => {
      const tokens = tf.maximum(tf.sum(agg.mask, 1, true), 1);
      const q: tf.Tensor2D = tf.neg(tf.div(tf.sum(kl, 1, true), tokens));
      return tf.broadcastTo<tf.Rank.R2>(tf.minimum(q, MAX_LOG_RATIO), logProbs.shape);
    });
    const unbounded = withoutGradient(() => tf.cast(tf.less(sequence, MAX_LOG_RATIO), "float32"));
    const ratio = tf.exp(straightThrough(sequence, tf.mul(logProbs, unbounded)));
    const gain = tf.neg(inert(input.advantages));
    const plain = tf.mul(gain, ratio);
    const clipped = tf.mul(gain, tf.clipByValue(ratio, 1 - low, 1 + high));
    let loss: tf.Tensor2D = tf.maximum(plain, clipped);
    if (input.rollout_is_weights) loss = tf.mul(loss, inert(input.rollout_is_weights));
    return {
      loss: agg.as("seq-mean-token-mean", loss),
      metrics: {
        "actor/pg_clipfrac": tokenShare(agg, tf.greater(clipped, plain)),
        "actor/pg_clipfrac_lower": tf.scalar(0),
        "actor/ppo_kl": agg.maskedMean(kl),
      },
    };
  },
};
