export { CACHE_ROW_WRITE, cacheRowWrite } from "./backend-cache-row-write.ts";
export { activateBackend, type BackendWish, type ChosenBackend } from "./backend.ts";
export { createRng, type Rng } from "./rng.ts";
export { readSafetensors, safetensorsChunks, type SafetensorsFile, type StoredArray } from "./safetensors.ts";
export type { BackendInstall, BackendOptions, TensorBackend } from "./tensor-backend.ts";
export { callKernel, ensureGradient, hasKernel, type SelectiveKernel } from "./kernel/call.ts";
export { withoutGradient } from "./without-gradient.ts";
export {
  composedLinearLogProbEntropy,
  LINEAR_LOG_PROB_ENTROPY,
  LINEAR_LOG_PROB_ENTROPY_GRADIENT,
  linearLogProbEntropy,
  type LinearLogProbAttrs,
  type LinearLogProbOptions,
  type TokenStatistic,
} from "./kernel/linear-log-prob-entropy.ts";
export {
  composedLogProbEntropy,
  LOG_PROB_ENTROPY,
  LOG_PROB_ENTROPY_GRADIENT,
  logProbEntropy,
  logProbEntropyGradient,
  type HalfMatrix,
  type LogProbAttrs,
  type RowDistributions,
} from "./kernel/log-prob-entropy.ts";
export {
  fusedPolicyLoss,
  lossDivisor,
  POLICY_LOSS,
  POLICY_LOSS_GRADIENT,
  type FusedAggregation,
  type FusedLoss,
  type PolicyLossAttrs,
  type PolicyLossTensors,
} from "./kernel/policy-loss.ts";
export {
  fusedKl,
  GAE_SCAN,
  gaeTensor,
  GROUP_STATISTICS,
  groupStatisticsTensor,
  KL_PENALTY,
  KL_PENALTY_GRADIENT,
  MASKED_WHITEN,
  maskedWhitenTensor,
  type FusedKl,
  type GroupTensors,
} from "./kernel/batch-kernels.ts";
