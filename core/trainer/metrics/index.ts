export { computeBalanceMetrics } from "./balance-metrics.ts";
export { computeDataMetrics } from "./data-metrics.ts";
export { reductionOf, type Reduction } from "./reductions.ts";
export { StepMetrics } from "./step-metrics.ts";
export { computeThroughputMetrics, computeTimingMetrics, type TokenCounts } from "./timing-metrics.ts";
export { nameValidationMetrics, processValidationMetrics, type ValidationMetrics } from "./validation-metrics.ts";
