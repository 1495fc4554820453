export type { BypassLoss, RolloutCorrectionConfig } from "./config.ts";
export { correctRollout, type RolloutCorrection } from "./correct-rollout.ts";
export { ROLLOUT_CORRECTION_PRESETS, type RolloutCorrectionPreset } from "./presets.ts";
export { parseRejectionRules, REJECTION_RULES, type RejectionRule } from "./rejection-rules.ts";
export { rewardsOfKeptTokens } from "./rewards-of-kept-tokens.ts";
export type { RolloutCorrectionInput } from "./unmasked-tokens.ts";
