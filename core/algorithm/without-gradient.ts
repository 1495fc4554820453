import * as tf from "@tensorflow/tfjs";

/** What `compute` returns, as a constant: nothing that happens inside is differentiated. */
export function withoutGradient<T extends tf.Tensor>(compute: () => T): T {
  const constant = tf.customGrad(() => ({ value: compute(), gradFunc: () => [] })) as () => T;
  return constant();
}
