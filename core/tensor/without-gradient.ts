import * as tf from "@tensorflow/tfjs";

/** What `compute` returns, as a constant: nothing that happens inside is differentiated. */
export function withoutGradient<T extends tf.Tensor>(compute: () => T): T {
  return tf.customGrad<T>(() => ({ value: compute(), gradFunc: () => [] }))();
}
