import type * as tf from "@tensorflow/tfjs";

/** Plain numbers of tensors, on this side; read together, since a GPU makes each reader wait. */
export async function numbersOf(tensors: Readonly<Record<string, tf.Tensor>>): Promise<Record<string, Float32Array>> {
  const read = async ([name, tensor]: [string, tf.Tensor]) => [name, Float32Array.from(await tensor.data())] as const;
  return Object.fromEntries(await Promise.all(Object.entries(tensors).map(read)));
}
