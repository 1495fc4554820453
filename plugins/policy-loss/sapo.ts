import * as tf from "@tensorflow/tfjs";
import { selectUnmasked, type PolicyLoss } from "verl";
import { CLIP_METRICS, fused } from "./fused.ts";

/** Bounds of the log-ratio, so that no exponential overflows. */
const MAX_LOG_RATIO = 20;

/**
 * Soft adaptive policy optimization: a gate that closes smoothly as the ratio leaves 1, where PPO cuts.
 *
 *     ρ = exp(log π_θ − log π_old)        τ = τ_pos where A > 0, else τ_neg
 *     L = −A · σ(τ (ρ − 1)) · 4 / τ,      mean over tokens, then over answers
 *
 * At ρ = 1 the gradient is PPO's. A larger τ_neg closes earlier for bad answers, whose gradients spread over many tokens.
 */
export const sapo: PolicyLoss = {
  description: "Surrogate loss with a smooth gate in place of clipping.",
  paper: "SAPO, arXiv 2511.20347",
  metrics: {
    "actor/pg_clipfrac": "Always 0: nothing is clipped.",
    "actor/pg_clipfrac_lower": "Always 0: nothing is clipped.",
    "actor/ppo_kl": "Mean of log π_old − log π_θ.",
  },
  compute(input, { tau_pos, tau_neg }, agg) {
    const kernel = fused("sapo", input, agg, CLIP_METRICS, {
      first: tau_pos,
      second: tau_neg,
      mode: "seq-mean-token-mean",
    });
    if (kernel) return kernel;
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const logRatio = tf.clipByValue(inert(tf.sub(input.log_probs, input.old_log_probs)), -MAX_LOG_RATIO, MAX_LOG_RATIO);
    const advantages = inert(input.advantages);
    const good = tf.cast(tf.greater(advantages, 0), "float32");
    const tau = tf.add(tf.mul(good, tau_pos - tau_neg), tau_neg);
    const gate = tf.sigmoid(tf.mul(tau, tf.sub(tf.exp(logRatio), 1)));
    let loss: tf.Tensor2D = tf.mul(gate, tf.div(tf.mul(advantages, -4), tau));
    if (input.rollout_is_weights) loss = tf.mul(loss, inert(input.rollout_is_weights));
    return {
      loss: agg.as("seq-mean-token-mean", loss),
      metrics: {
        "actor/pg_clipfrac": tf.scalar(0),
        "actor/pg_clipfrac_lower": tf.scalar(0),
        "actor/ppo_kl": agg.maskedMean(tf.neg(logRatio)),
      },
    };
  },
};
