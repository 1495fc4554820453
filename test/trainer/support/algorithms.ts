import * as tf from "@tensorflow/tfjs";
import type { AdvantageEstimator } from "../../../core/algorithm/advantage-estimator.ts";
import type { KlPenalty } from "../../../core/algorithm/kl-penalty.ts";
import type { LossAgg } from "../../../core/algorithm/loss-agg.ts";
import type { PolicyLoss } from "../../../core/algorithm/policy-loss.ts";
import { NdArray } from "../../../core/batch/nd-array.ts";

/* Algorithms of the simplest kind, so that tests of the trainer say nothing about the built-in ones. */

/** Each row's reward less the mean of its group, on every response token. */
export const centred: AdvantageEstimator = {
  description: "Reward less the group's mean.",
  needsGroups: true,
  compute({ token_level_rewards, response_mask, uid }, _config, ctx) {
    const rewards = uid.map((_, row) => token_level_rewards.row(row).data.reduce((sum, value) => sum + value, 0));
    const advantages = NdArray.zeros("float32", token_level_rewards.shape);
    uid.forEach((own, row) => {
      const group = rewards.filter((_, other) => uid[other] === own);
      const value = rewards[row]! - group.reduce((sum, reward) => sum + reward, 0) / group.length;
      advantages.row(row).data.set(response_mask.row(row).data.map((flag) => flag * value));
    });
    ctx.metric("test/groups", new Set(uid).size);
    return { advantages, returns: advantages };
  },
};

/** −exp(log π − log π_old) · A. */
export const policyGradient: PolicyLoss = {
  description: "Importance-weighted policy gradient.",
  compute({ log_probs, old_log_probs, advantages }, _config, agg) {
    const logRatio = tf.sub<tf.Tensor2D>(log_probs, old_log_probs);
    const loss = agg(tf.neg(tf.mul(tf.exp(logRatio), advantages)));
    return { loss, metrics: { "actor/ppo_kl": agg.maskedMean(tf.neg(logRatio)) } };
  },
};

export const tokenMean: LossAgg = {
  description: "Mean over tokens.",
  aggregate(matrix, mask, { tokens }) {
    return tf.div(tf.sum(tf.where(tf.greater(mask, 0), matrix, tf.zerosLike(matrix))), tf.scalar(tokens));
  },
};

export const k1: KlPenalty = {
  description: "log π − log π_ref.",
  compute: (logProb, refLogProb) => tf.sub(logProb, refLogProb),
};
