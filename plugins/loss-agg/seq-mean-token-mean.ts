import * as tf from "@tensorflow/tfjs";
import { selectUnmasked, type LossAgg } from "verl";

/**
 * Every answer weighs the same, so tokens of long answers weigh less.
 *
 *     L = Σ_i (Σ_t m_{i,t} L_{i,t} / Σ_t m_{i,t}) / B        B = answers with at least one token
 */
export const seqMeanTokenMean: LossAgg = {
  description: "Mean over the tokens of a row, mean over the step's rows.",
  paper: "DeepSeekMath, arXiv 2402.03300, equation 3",
  aggregate(lossMatrix, mask, { sequences }) {
    const sums = tf.sum(selectUnmasked(lossMatrix, mask), 1);
    // A row without tokens has the sum 0; any divisor but 0 keeps it.
    const lengths = tf.maximum(tf.sum(mask, 1), 1);
    return tf.div(tf.sum(tf.div(sums, lengths)), tf.scalar(Math.max(sequences, 1)));
  },
};
