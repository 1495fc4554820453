import * as tf from "@tensorflow/tfjs";
import { selectUnmasked, tokenShare, type PolicyLoss } from "verl";

/** Bound of the log-ratio, so that no exponential overflows. */
const MAX_LOG_RATIO = 20;

/**
 * RAFT++: learn from the answers that were good, and from nothing else. No advantage is read: each chosen answer counts for 1.
 *
 *     chosen_i = [Σ_t r_{i,t} > threshold]
 *     L = −chosen · min(ρ, 1 + ε)        ρ = exp(log π_θ − log π_old)
 *
 * It declares `requires: ["token_level_rewards"]`, so the trainer hands it that field without a word in the config.
 */
export const policyLoss: PolicyLoss = {
  description: "Clipped likelihood of the answers whose reward is above a threshold.",
  paper: "A Minimalist Approach to LLM Reasoning, arXiv 2504.11343, section 2",
  requires: ["token_level_rewards"],
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      threshold: { type: "number", default: 0, description: "Answers with a reward above it are learnt from." },
      epsilon: { type: "number", minimum: 0, default: 0.2, description: "The ratio gains nothing beyond 1 + epsilon." },
    },
  },
  metrics: {
    "actor/ppo_kl": "Mean of log π_old − log π_θ.",
    "actor/raft_chosen": "Share of tokens whose answer is learnt from.",
    "actor/raft_clipfrac": "Share of tokens that gain nothing more.",
  },
  compute(input, { policy_loss }, agg) {
    const { threshold, epsilon } = policy_loss as typeof policy_loss & { threshold: number; epsilon: number };
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const rewards = inert(input.token_level_rewards as tf.Tensor2D);
    const chosen = tf.broadcastTo<tf.Rank.R2>(tf.greater(tf.sum(rewards, 1, true), threshold), rewards.shape);
    const logRatio = tf.clipByValue(inert(tf.sub(input.log_probs, input.old_log_probs)), -MAX_LOG_RATIO, MAX_LOG_RATIO);
    const ratio = tf.exp(logRatio);
    let loss: tf.Tensor2D = tf.neg(tf.mul(tf.cast(chosen, "float32"), tf.minimum(ratio, 1 + epsilon)));
    if (input.rollout_is_weights) loss = tf.mul(loss, inert(input.rollout_is_weights));
    return {
      loss: agg(loss),
      metrics: {
        "actor/ppo_kl": agg.maskedMean(tf.neg(logRatio)),
        "actor/raft_chosen": tokenShare(agg, chosen),
        "actor/raft_clipfrac": tokenShare(agg, tf.logicalAnd(chosen, tf.greater(ratio, 1 + epsilon))),
      },
    };
  },
};
