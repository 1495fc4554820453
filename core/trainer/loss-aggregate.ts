import * as tf from "@tensorflow/tfjs";
import type { LossDenominators } from "../algorithm/loss-agg.ts";
import type { Aggregate } from "../algorithm/policy-loss.ts";
import type { NdArray } from "../batch/nd-array.ts";
import { registries } from "../registry/index.ts";

/** Counts over the rows of a whole optimizer step. @param mask rows × response length, 0/1. @param scaleFactor null: the length. */
export function countDenominators(mask: NdArray, scaleFactor: number | null): LossDenominators {
  const [rows = 0, width = 0] = mask.shape;
  let [tokens, sequences] = [0, 0];
  for (let row = 0; row < rows; row++) {
    let own = 0;
    for (let at = row * width; at < (row + 1) * width; at++) own += Number(mask.data[at]);
    tokens += own;
    if (own > 0) sequences++;
  }
  return { tokens, sequences, scaleFactor: scaleFactor ?? width };
}

/** Aggregation by `mode` with denominators of the whole optimizer step. @param mask rows × response length of the micro-batch. */
export function createAggregate(mode: string, mask: tf.Tensor2D, denominators: LossDenominators): Aggregate {
  const as = (key: string, matrix: tf.Tensor2D): tf.Scalar =>
    registries.loss_agg.resolve(key).aggregate(matrix, mask, denominators);
  const maskedMean = (matrix: tf.Tensor2D): tf.Scalar => {
    // Selected, not multiplied: what stands behind the mask may be NaN.
    const chosen = tf.where(tf.greater(mask, 0), matrix, tf.zerosLike(matrix));
    return tf.div(tf.sum(chosen), tf.scalar(Math.max(denominators.tokens, 1)));
  };
  return Object.assign((matrix: tf.Tensor2D) => as(mode, matrix), { as, maskedMean, mask, denominators });
}
