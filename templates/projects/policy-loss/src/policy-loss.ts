import * as tf from "@tensorflow/tfjs";
import { selectUnmasked, type PolicyLoss } from "verl";

/** Bound of the log-ratio, so that no exponential overflows. */
const MAX_LOG_RATIO = 20;

/**
 * Simple policy optimization: the ratio is pulled back to 1 by a parabola instead of being clipped, so no token loses its gradient.
 *
 *     ρ = exp(log π_θ − log π_old)
 *     L = −(A ρ − |A| / (2 ε) · (ρ − 1)²)
 *
 * The parabola has its top where ρ − 1 = ±ε: there the loss is flat, and beyond it pulls back.
 */
export const policyLoss: PolicyLoss = {
  description: "Surrogate loss with a quadratic penalty on the ratio instead of a clip.",
  paper: "Simple Policy Optimization, arXiv 2401.16025",
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      epsilon: {
        type: "number",
        exclusiveMinimum: 0,
        default: 0.2,
        description: "Distance from 1 at which the ratio gains nothing more.",
      },
    },
  },
  metrics: {
    "actor/ppo_kl": "Mean of log π_old − log π_θ.",
    "actor/spo_penalty": "Mean of the penalty.",
  },
  compute(input, { policy_loss }, agg) {
    const { epsilon } = policy_loss as unknown as { epsilon: number };
    // Masked tokens are selected away, never multiplied by 0: what stands there may be NaN.
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const advantages = inert(input.advantages);
    const logRatio = tf.clipByValue(inert(tf.sub(input.log_probs, input.old_log_probs)), -MAX_LOG_RATIO, MAX_LOG_RATIO);
    const ratio = tf.exp(logRatio);
    const penalty: tf.Tensor2D = tf.mul(tf.div(tf.abs(advantages), 2 * epsilon), tf.square(tf.sub(ratio, 1)));
    let loss: tf.Tensor2D = tf.sub(penalty, tf.mul(advantages, ratio));
    if (input.rollout_is_weights) loss = tf.mul(loss, inert(input.rollout_is_weights));
    return {
      loss: agg(loss),
      metrics: {
        "actor/ppo_kl": agg.maskedMean(tf.neg(logRatio)),
        "actor/spo_penalty": agg.maskedMean(penalty),
      },
    };
  },
};
