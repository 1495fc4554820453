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
  type LinearLogProbAttrs,
  type LogProbAttrs,
  MASKED_WHITEN,
  POLICY_LOSS,
  POLICY_LOSS_GRADIENT,
  type PolicyLossAttrs,
} from "verl";
import { gaeScan, groupStatistics, maskedWhiten } from "./batch-kernels.ts";
import { klPenalty, klPenaltyGradient } from "./kl-penalty.ts";
import { Gpu } from "./dispatch.ts";
import { linearLogProbEntropy, linearLogProbEntropyGradient } from "./linear-log-prob-entropy.ts";
import { logProbEntropy, logProbEntropyGradient } from "./log-prob-entropy.ts";
import { policyLoss, policyLossGradient } from "./policy-loss.ts";

type Inputs = Readonly<Record<string, tf.TensorInfo>>;
type Implementation = (gpu: Gpu, inputs: Inputs, attrs: never) => tf.TensorInfo | tf.TensorInfo[];

/** Kernels of `core/tensor/kernel` in WGSL, by their tfjs names. */
const KERNELS: Readonly<Record<string, Implementation>> = {
  [LOG_PROB_ENTROPY]: (gpu, inputs, attrs: LogProbAttrs) => logProbEntropy(gpu, inputs, attrs),
  [LOG_PROB_ENTROPY_GRADIENT]: (gpu, inputs, attrs: LogProbAttrs) => logProbEntropyGradient(gpu, inputs, attrs),
  [LINEAR_LOG_PROB_ENTROPY]: (gpu, inputs, attrs: LinearLogProbAttrs) => linearLogProbEntropy(gpu, inputs, attrs),
  [LINEAR_LOG_PROB_ENTROPY_GRADIENT]: (gpu, inputs, attrs: LinearLogProbAttrs) =>
    linearLogProbEntropyGradient(gpu, inputs, attrs),
  [POLICY_LOSS]: (gpu, inputs, attrs: PolicyLossAttrs) => policyLoss(gpu, inputs, attrs),
  [POLICY_LOSS_GRADIENT]: (gpu, inputs) => policyLossGradient(gpu, inputs),
  [MASKED_WHITEN]: maskedWhiten,
  [GROUP_STATISTICS]: groupStatistics,
  [GAE_SCAN]: gaeScan,
  [KL_PENALTY]: klPenalty,
  [KL_PENALTY_GRADIENT]: klPenaltyGradient,
};

/** Registers them on tfjs' backend of that name. */
export function registerWebGpuKernels(backendName: string): void {
  for (const [kernelName, implementation] of Object.entries(KERNELS)) {
    tf.registerKernel({
      kernelName,
      backendName,
      kernelFunc: ({ inputs, attrs, backend }) => implementation(new Gpu(backend), inputs as Inputs, attrs as never),
    });
  }
}
