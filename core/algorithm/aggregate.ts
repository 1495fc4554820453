import * as tf from "@tensorflow/tfjs";
import type { NdArray } from "../batch/nd-array.ts";
import { VerlError } from "../errors/verl-error.ts";
import { inNameOf, registries } from "../registry/index.ts";
import type { LossDenominators } from "./loss-agg.ts";
import type { Aggregate } from "./policy-loss.ts";
import { notAMask } from "./not-a-mask.ts";
import { requireTensor } from "./require-tensor.ts";
import { selectUnmasked } from "./select-unmasked.ts";
import { lossMatrixSeen } from "./watch-loss-matrices.ts";

/**
 * Counts over the rows of a whole optimizer step.
 * @param mask rows × response length, 0/1. @param scaleFactor `actor.loss_scale_factor`; null: the response length.
 * @throws VERL_ALGORITHM_MASK for any other value, which betrays swapped arguments.
 */
export function countDenominators(mask: NdArray, scaleFactor: number | null): LossDenominators {
  const [rows = 0, width = 0] = mask.shape;
  let tokens = 0;
  let sequences = 0;
  for (let row = 0, at = 0; row < rows; row++) {
    const before = tokens;
    for (const end = at + width; at < end; at++) {
      const bit = Number(mask.data[at]);
      if (bit !== 0 && bit !== 1) throw notAMask(bit, row, width - (end - at));
      tokens += bit;
    }
    if (tokens > before) sequences++;
  }
  return { tokens, sequences, scaleFactor: scaleFactor ?? width };
}

/**
 * Aggregation by the `loss_agg` entry under `mode`, with the denominators of the whole optimizer step.
 * @param mask rows × response length of this micro-batch, 0/1 float32.
 * @throws VERL_ALGORITHM_SHAPE when a loss matrix has another shape than the mask.
 */
export function createAggregate(mode: string, mask: tf.Tensor2D, denominators: LossDenominators): Aggregate {
  const as = (key: string, matrix: tf.Tensor2D): tf.Scalar => {
    requireShape(matrix, mask);
    lossMatrixSeen(matrix, mask);
    const entry = registries.loss_agg.resolve(key);
    return inNameOf("loss_agg", key, () => {
      const loss = entry.aggregate(matrix, mask, denominators);
      requireTensor(loss, [], "the step's share of the loss");
      return loss;
    });
  };
  const maskedMean = (matrix: tf.Tensor2D): tf.Scalar => {
    requireShape(matrix, mask);
    return tf.div(tf.sum(selectUnmasked(matrix, mask)), tf.scalar(Math.max(denominators.tokens, 1)));
  };
  return Object.assign((matrix: tf.Tensor2D) => as(mode, matrix), { as, maskedMean, mode, mask, denominators });
}

function requireShape(matrix: tf.Tensor, mask: tf.Tensor): void {
  if (tf.util.arraysEqual(matrix.shape, mask.shape)) return;
  throw new VerlError(
    "VERL_ALGORITHM_SHAPE",
    `A loss matrix of shape [${matrix.shape.join(", ")}] does not fit response_mask of shape [${mask.shape.join(", ")}].`,
    { hint: "A loss returns one number a token: rows × response length." },
  );
}
