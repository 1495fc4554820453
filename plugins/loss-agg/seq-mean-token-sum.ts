import * as tf from "@tensorflow/tfjs";
import { selectUnmasked, type LossAgg } from "verl";

/**
 * The mean over answers of each one's summed loss: the likelihood of an answer is a product over its tokens.
 *
 *     L = Σ_i (Σ_t m_{i,t} L_{i,t}) / B        B = answers with at least one token
 */
export const seqMeanTokenSum: LossAgg = {
  description: "Sum over the tokens of a row, mean over the step's rows.",
  aggregate: (lossMatrix, mask, { sequences }) =>
    tf.div(tf.sum(selectUnmasked(lossMatrix, mask)), tf.scalar(Math.max(sequences, 1))),
};
