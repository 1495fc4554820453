import * as tf from "@tensorflow/tfjs";
import {
  GAE_SCAN,
  GROUP_STATISTICS,
  KL_PENALTY,
  KL_PENALTY_GRADIENT,
  LINEAR_LOG_PROB_ENTROPY,
  LINEAR_LOG_PROB_ENTROPY_GRADIENT,
  LOG_PROB_ENTROPY,
  LOG_PROB_ENTROPY_GRADIENT,
  MASKED_WHITEN,
  NdArray,
  POLICY_LOSS,
  POLICY_LOSS_GRADIENT,
  type SelectiveKernel,
} from "verl";
import { gaeScan } from "./gae-scan.ts";
import { groupStatistics } from "./group-statistics.ts";
import type { HostArray, HostKernel, HostMemory } from "./host-kernel.ts";
import { klPenalty, klPenaltyGradient } from "./kl-penalty.ts";
import { linearLogProbEntropy, linearLogProbEntropyGradient } from "./linear-log-prob-entropy.ts";
import { logProbEntropy, logProbEntropyGradient } from "./log-prob-entropy.ts";
import { maskedWhiten } from "./masked-whiten.ts";
import { policyLoss } from "./policy-loss.ts";

/** Kernels of `core/tensor/kernel`, by their tfjs names. */
const KERNELS: Readonly<Record<string, HostKernel>> = {
  [LOG_PROB_ENTROPY]: logProbEntropy,
  [LOG_PROB_ENTROPY_GRADIENT]: logProbEntropyGradient,
  [LINEAR_LOG_PROB_ENTROPY]: linearLogProbEntropy,
  [LINEAR_LOG_PROB_ENTROPY_GRADIENT]: linearLogProbEntropyGradient,
  [POLICY_LOSS]: policyLoss,
  [MASKED_WHITEN]: maskedWhiten,
  [GROUP_STATISTICS]: groupStatistics,
  [GAE_SCAN]: gaeScan,
  [KL_PENALTY]: klPenalty,
  [KL_PENALTY_GRADIENT]: klPenaltyGradient,
};

/** Inputs that are int32; the others are float32. */
const INTEGERS: readonly string[] = ["targets", "groups"];

type Inputs = Readonly<Record<string, tf.TensorInfo>>;

/** Registers them on tfjs' backend of that name, once. @param names tfjs' names of those to register; default: all. */
export function registerHostKernels<Backend extends tf.KernelBackend>(
  backendName: string,
  memory: HostMemory<Backend>,
  names: readonly string[] = Object.keys(KERNELS),
): void {
  if (tf.getKernel(POLICY_LOSS, backendName) !== undefined) return;
  const { room = (_, size) => NdArray.unwritten("float32", [size]).data } = memory;
  for (const kernelName of names) {
    const implementation = KERNELS[kernelName]!;
    const kernel: SelectiveKernel = {
      kernelName,
      backendName,
      accepts: (inputs) =>
        Object.entries(inputs).every(
          ([name, tensor]) =>
            tensor.dtype === (INTEGERS.includes(name) ? "int32" : "float32") &&
            memory.valuesOf(tf.backend() as Backend, tensor) !== undefined,
        ),
      kernelFunc({ inputs, attrs, backend }) {
        const arrays = Object.entries(inputs as Inputs).map(([name, tensor]): [string, Partial<HostArray>] => {
          const values = memory.valuesOf(backend as Backend, tensor) as Float32Array | undefined;
          return [name, { values, shape: tensor.shape }];
        });
        const outputs = implementation(Object.fromEntries(arrays) as never, attrs as never, (size) =>
          room(backend as Backend, size),
        );
        return outputs.map(({ values, shape }) => memory.tensorOf(backend as Backend, values, [...shape]));
      },
    };
    tf.registerKernel(kernel);
  }
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
