import * as tf from "@tensorflow/tfjs";
import { POLICY_LOSS, POLICY_LOSS_GRADIENT, type PolicyLossAttrs, type SelectiveKernel } from "verl";
import { policyLoss, type PolicyLossArrays } from "./policy-loss.ts";

type Inputs = Readonly<Record<string, tf.TensorInfo>>;

/** How a tfjs backend keeps its tensors in plain arrays. */
export interface HostMemory<Backend extends tf.KernelBackend = tf.KernelBackend> {
  /** A float32 tensor's values, not to be written to; undefined while something has to be computed for them. */
  valuesOf(backend: Backend, tensor: tf.TensorInfo): Float32Array | undefined;
  /** A tensor that owns `values`. */
  tensorOf(backend: Backend, values: Float32Array, shape: number[]): tf.TensorInfo;
}

/** Registers, on tfjs' backend of that name, the kernels of `core/tensor/kernel` that are loops over plain arrays; once. */
export function registerHostKernels<Backend extends tf.KernelBackend>(
  backendName: string,
  memory: HostMemory<Backend>,
): void {
  if (tf.getKernel(POLICY_LOSS, backendName) !== undefined) return;
  const fused: SelectiveKernel = {
    kernelName: POLICY_LOSS,
    backendName,
    accepts: (inputs) => inputs.every((tensor) => memory.valuesOf(tf.backend() as Backend, tensor) !== undefined),
    kernelFunc({ inputs, attrs, backend }) {
      const given = Object.entries(inputs as Inputs);
      const arrays = Object.fromEntries(
        given.map(([name, tensor]) => [name, memory.valuesOf(backend as Backend, tensor)]),
      );
      const shape = inputs["logProbs"]!.shape as [number, number];
      const { loss, metrics, gradient } = policyLoss(
        arrays as unknown as PolicyLossArrays,
        shape,
        attrs as unknown as PolicyLossAttrs,
      );
      const scalars = [loss, ...metrics].map((value) =>
        memory.tensorOf(backend as Backend, Float32Array.of(value), []),
      );
      return [...scalars, memory.tensorOf(backend as Backend, gradient, shape)];
    },
  };
  tf.registerKernel(fused);
  tf.registerKernel({
    kernelName: POLICY_LOSS_GRADIENT,
    backendName,
    /** The gradient as it is where the loss's own is 1, as it mostly is. */
    kernelFunc({ inputs, backend }) {
      const { gradient, dLoss } = inputs as { gradient: tf.Tensor; dLoss: tf.Tensor };
      const scale = memory.valuesOf(backend as Backend, dLoss)?.[0];
      return scale === 1 ? tf.clone(gradient) : tf.mul(gradient, dLoss);
    },
  });
}
