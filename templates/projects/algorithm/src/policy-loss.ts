import * as tf from "@tensorflow/tfjs";
import { selectUnmasked, type PolicyLoss } from "verl";

/**
 * The policy gradient itself, with a reward for staying undecided.
 *
 *     L = −A log π_θ − β H̃        H̃ = −log π_θ of the sampled token, an estimate of the entropy
 */
export const policyLoss: PolicyLoss = {
  description: "Policy gradient with a bonus for entropy, estimated from the sampled tokens.",
  paper: 'Williams, "Simple Statistical Gradient-Following Algorithms" (1992), section 4',
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      entropy_bonus: { type: "number", minimum: 0, default: 0, description: "β, weight of the bonus." },
    },
  },
  metrics: { "actor/sampled_entropy": "Mean of −log π_θ of the sampled tokens." },
  compute(input, { policy_loss }, agg) {
    const { entropy_bonus } = policy_loss as unknown as { entropy_bonus: number };
    // Masked tokens are selected away, never multiplied by 0: what stands there may be NaN.
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const logProbs = inert(input.log_probs);
    let gain: tf.Tensor2D = tf.mul(tf.sub(inert(input.advantages), entropy_bonus), logProbs);
    if (input.rollout_is_weights) gain = tf.mul(gain, inert(input.rollout_is_weights));
    return {
      loss: agg(tf.neg(gain)),
      metrics: { "actor/sampled_entropy": agg.maskedMean(tf.neg(logProbs)) },
    };
  },
};
