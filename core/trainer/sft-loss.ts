import * as tf from "@tensorflow/tfjs";
import type { DataProto } from "../batch/data-proto.ts";
import type { TokenLoss } from "../engine/training-engine.ts";

/** Tokens that a batch trains on. */
export function trainedTokens(batch: DataProto): number {
  const mask = batch.tensor("response_mask", "int32").data;
  return mask.reduce((sum, flag) => sum + flag, 0);
}

/**
 * Negative log-likelihood of the trained tokens, averaged over those of the whole step. Other positions are selected away, so that
 * nothing behind the mask counts, not even NaN.
 * @param tokens trained tokens of the step, over all micro-batches.
 */
export function sftLoss(tokens: number): TokenLoss {
  return {
    fields: ["response_mask"],
    outputs: ["log_probs"],
    compute({ log_probs, fields }) {
      const chosen = tf.where(tf.greater(fields.response_mask!, 0), log_probs, tf.zerosLike(log_probs));
      const loss: tf.Scalar = tf.div(tf.neg(tf.sum(chosen)), tf.scalar(Math.max(tokens, 1)));
      return { loss, metrics: {} };
    },
  };
}
