import * as tf from "@tensorflow/tfjs";
import { selectUnmasked, type LossAgg } from "verl";

/**
 * A constant divisor, so that length has no influence on a token's weight.
 *
 *     L = Σ_i Σ_t m_{i,t} L_{i,t} / F        F = `actor.loss_scale_factor`, or the response length
 *
 * As in verl, rows do not divide; Dr. GRPO's mean over rows comes from F = response length × rows.
 */
export const seqMeanTokenSumNorm: LossAgg = {
  description: "Sum over all unmasked tokens, divided by a constant.",
  paper: "Dr. GRPO, arXiv 2503.20783, appendix A",
  aggregate: (lossMatrix, mask, { scaleFactor }) =>
    tf.div(tf.sum(selectUnmasked(lossMatrix, mask)), tf.scalar(scaleFactor)),
};
