import * as tf from "@tensorflow/tfjs";
import { selectUnmasked, type LossAgg } from "verl";

/**
 * Every token of the optimizer step weighs the same, so long answers weigh more.
 *
 *     L = Σ_i Σ_t m_{i,t} L_{i,t} / Σ_i Σ_t m_{i,t}
 */
export const tokenMean: LossAgg = {
  description: "Mean over all unmasked tokens of the optimizer step.",
  paper: "DAPO, arXiv 2503.14476, section 3.3",
  aggregate: (lossMatrix, mask, { tokens }) =>
    tf.div(tf.sum(selectUnmasked(lossMatrix, mask)), tf.scalar(Math.max(tokens, 1))),
};
