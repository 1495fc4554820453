import type * as tf from "@tensorflow/tfjs";

let look: ((matrix: tf.Tensor2D, mask: tf.Tensor2D) => void) | undefined;

/** Shows each matrix that is aggregated to a loss while `work` runs, with its mask: which token made a loss what it is can be seen there alone. */
export function watchLossMatrices<T>(seen: (matrix: tf.Tensor2D, mask: tf.Tensor2D) => void, work: () => T): T {
  const before = look;
  look = seen;
  try {
    return work();
  } finally {
    look = before;
  }
}

export const lossMatrixSeen = (matrix: tf.Tensor2D, mask: tf.Tensor2D): void => look?.(matrix, mask);
