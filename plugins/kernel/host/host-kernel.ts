import type * as tf from "@tensorflow/tfjs";

/** A tensor in a plain array. */
export interface HostArray<Values extends Float32Array | Int32Array = Float32Array> {
  readonly values: Values;
  readonly shape: readonly number[];
}

/** Room for a result, every element of which is to be written. */
export type Room = (size: number) => Float32Array;

/** A kernel of `core/tensor/kernel` as loops over plain arrays. @returns its outputs, in their order. */
export type HostKernel<Inputs = never, Attrs = never> = (inputs: Inputs, attrs: Attrs, room: Room) => HostArray[];

/** How a tfjs backend keeps its tensors in plain arrays. */
export interface HostMemory<Backend extends tf.KernelBackend = tf.KernelBackend> {
  /** Values of a float32 or int32 tensor, not to be written to; undefined while something has to be computed for them. */
  valuesOf(backend: Backend, tensor: tf.TensorInfo): Float32Array | Int32Array | undefined;
  /** A tensor that owns `values`. */
  tensorOf(backend: Backend, values: Float32Array, shape: number[]): tf.TensorInfo;
  /** Room for a result, every element of which is to be written. Default: a new array. */
  readonly room?: (backend: Backend, size: number) => Float32Array;
}
