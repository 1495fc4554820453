export type {
  AdvantageConfig,
  AdvantageContext,
  AdvantageEstimator,
  AdvantageInput,
  AdvantageOutput,
} from "./advantage-estimator.ts";
export { countDenominators, createAggregate } from "./aggregate.ts";
export { checkAdvantageInput, notFinite } from "./check-advantage-input.ts";
export { clipRange } from "./clip-range.ts";
export { fastExp } from "./fast-exp.ts";
export { GROUP_METRICS, reportGroups } from "./group-metrics.ts";
export {
  comparedMeans,
  groupedOutcomes,
  lessGroupBaseline,
  outcomeAdvantages,
  type GroupedOutcomes,
} from "./grouped-outcomes.ts";
export { groupRows, groupStatistics, type Groups, type GroupStatistics } from "./groups.ts";
export { createKlController, type KlController, type KlControllerConfig } from "./kl-controller.ts";
export { applyKlPenalty, type PenalizedRewards } from "./kl-in-reward.ts";
export type { KlPenalty } from "./kl-penalty.ts";
export { kthLargest } from "./kth-largest.ts";
export { Largest } from "./largest.ts";
export type { LossAgg, LossDenominators } from "./loss-agg.ts";
export {
  maskedCount,
  maskedMean,
  maskedMoments,
  maskedRowSums,
  maskedSum,
  maskedVar,
  maskedWhiten,
  varianceOf,
  type Moments,
} from "./masked-arrays.ts";
export { outcomes, spreadOverTokens, type Outcomes } from "./outcome.ts";
export { drawByWeight, pfPpoWeights, type PfPpoConfig } from "./pf-ppo.ts";
export type {
  Aggregate,
  PolicyLoss,
  PolicyLossConfig,
  PolicyLossContext,
  PolicyLossInput,
  PolicyLossOutput,
  PolicyLossStep,
} from "./policy-loss.ts";
export { preparedField } from "./prepared-field.ts";
export { rewardToGo } from "./reward-to-go.ts";
export * from "./rollout-correction/index.ts";
export { selectUnmasked } from "./select-unmasked.ts";
export { resolveKlPenalty, straightThrough } from "./straight-through.ts";
export { tokenShare } from "./token-share.ts";
export { valueLoss, type ValueLossInput } from "./value-loss.ts";
export { clearMasked, tokenField } from "./token-field.ts";
export { sumOf, tokenRuns, type TokenRuns } from "./token-runs.ts";
export { watchLossMatrices } from "./watch-loss-matrices.ts";
export { whitenByTokens } from "./whiten-by-tokens.ts";
export { whitenTokens } from "./whiten-tokens.ts";
