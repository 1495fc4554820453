import * as tf from "@tensorflow/tfjs";
import { clipRange, selectUnmasked, tokenShare, withoutGradient, type PolicyLoss } from "verl";
import { CLIP_METRICS, fused } from "./fused.ts";

/** Bounds of the log-ratio, so that no exponential overflows. */
const MAX_LOG_RATIO = 70;

/** Keeps the logarithm of a weight of 0 finite. */
const WEIGHT_EPSILON = 1e-10;

/**
 * Geometric-mean policy optimization: the geometric mean of an answer's clipped ratios, which a single wild token cannot dominate.
 *
 *     Δ = log π_θ − log π_old,  Δ' = min(Δ, ε_high) where A > 0, max(Δ, −ε_low) where A < 0
 *     L_i = −(mean_t A) · exp(mean_t Δ'),        mean over answers that have tokens
 *
 * The range is one of log-ratios; the paper uses 0.4 on both sides. `loss_agg_mode` has no say.
 */
export const geoMean: PolicyLoss = {
  description: "Surrogate loss with the geometric mean of an answer's clipped ratios.",
  paper: "GMPO, arXiv 2507.20673",
  aliases: ["gmpo", "geo-mean"],
  metrics: {
    "actor/pg_clipfrac": "Share of tokens outside the range with a positive advantage.",
    "actor/pg_clipfrac_lower": "Share of tokens outside the range with a negative advantage.",
    "actor/ppo_kl": "Mean of log π_old − log π_θ.",
  },
  departures: [
    "The mean goes over answers that have tokens, of the whole optimizer step; verl counts empty rows, and each micro-batch by itself.",
    "Log-ratios are cut at ±70, so that no mean of them overflows; a token below −70 counts as −70, where verl takes it whole.",
  ],
  compute(input, config, agg) {
    const kernel = fused("geo_mean", input, agg, CLIP_METRICS, { clip: clipRange(config), mode: "token-mean" });
    if (kernel) return kernel;
    const { low, high } = clipRange(config);
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const tokens = tf.maximum(tf.sum(agg.mask, 1), 1);
    const rowMean = (x: tf.Tensor2D): tf.Tensor1D => tf.div(tf.sum(x, 1), tokens);

    const logRatio = tf.clipByValue(inert(tf.sub(input.log_probs, input.old_log_probs)), -MAX_LOG_RATIO, MAX_LOG_RATIO);
    const advantages = inert(input.advantages);
    const [good, bad] = [tf.greater(advantages, 0), tf.less(advantages, 0)];
    const kept: tf.Tensor2D = tf.where(
      good,
      tf.minimum(logRatio, high),
      tf.where(bad, tf.maximum(logRatio, -low), tf.zerosLike(logRatio)),
    );
    let loss: tf.Tensor1D = tf.neg(tf.mul(rowMean(advantages), tf.exp(rowMean(kept))));
    const { rollout_is_weights } = input;
    if (rollout_is_weights) {
      const weights = inert(tf.log(tf.add(rollout_is_weights, WEIGHT_EPSILON)));
      loss = tf.mul(loss, tf.exp(rowMean(weights)));
    }
    const outside = withoutGradient(() => tf.logicalOr(tf.greater(logRatio, high), tf.less(logRatio, -low)));
    return {
      loss: tf.div(tf.sum(loss), Math.max(agg.denominators.sequences, 1)),
      metrics: {
        "actor/pg_clipfrac": tokenShare(agg, tf.logicalAnd(outside, good)),
        "actor/pg_clipfrac_lower": tokenShare(agg, tf.logicalAnd(outside, bad)),
        "actor/ppo_kl": agg.maskedMean(tf.neg(logRatio)),
      },
    };
  },
};
