export type {
  AdvantageConfig,
  AdvantageContext,
  AdvantageEstimator,
  AdvantageInput,
  AdvantageOutput,
} from "./advantage-estimator.ts";
export { countDenominators, createAggregate } from "./aggregate.ts";
export { groupRows, groupStatistics, type Groups, type GroupStatistics } from "./groups.ts";
export { createKlController, type KlController, type KlControllerConfig } from "./kl-controller.ts";
export { applyKlPenalty, type PenalizedRewards } from "./kl-in-reward.ts";
export type { KlPenalty } from "./kl-penalty.ts";
export type { LossAgg, LossDenominators } from "./loss-agg.ts";
export { maskedCount, maskedMean, maskedRowSums, maskedSum, maskedVar, maskedWhiten } from "./masked-arrays.ts";
export { outcomes, spreadOverTokens, type Outcomes } from "./outcome.ts";
export type { Aggregate, PolicyLoss, PolicyLossConfig, PolicyLossInput, PolicyLossOutput } from "./policy-loss.ts";
export { selectUnmasked } from "./select-unmasked.ts";
export { resolveKlPenalty } from "./straight-through.ts";
