export type { AdvantageConfig, AdvantageContext, AdvantageEstimator, AdvantageInput, AdvantageOutput } from "./advantage-estimator.ts";
export type { KlPenalty } from "./kl-penalty.ts";
export type { LossAgg, LossDenominators } from "./loss-agg.ts";
export type { Aggregate, PolicyLoss, PolicyLossConfig, PolicyLossInput, PolicyLossOutput } from "./policy-loss.ts";
