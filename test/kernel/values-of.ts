import type * as tf from "@tensorflow/tfjs";

/** Values of tensors, which are read in one go. */
export const valuesOf = (tensors: readonly tf.Tensor[]): Promise<Float32Array[]> =>
  Promise.all(tensors.map((tensor) => tensor.data<"float32">()));
