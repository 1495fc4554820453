export { DeadlineError, withDeadline, withGrace } from "./deadline.ts";
export { needsGroundTruth } from "./ground-truth.ts";
export { mapConcurrent } from "./map-concurrent.ts";
export {
  RewardManager,
  type RewardManagerEntry,
  type RewardScore,
  type SampleReward,
  type ScoreFunction,
  type ScoreInput,
  type ScoreResult,
} from "./reward-manager.ts";
export { toSampleReward, unscored, unscoredClass, type UnscoredClass } from "./sample-reward.ts";
export { requireScored, responseLengths, REWARD_SCORE, scoreBatch, unscoredMetrics } from "./score-batch.ts";
export {
  loadScoreFunctions,
  SCORE_FUNCTIONS,
  thrownAt,
  type CustomRewardFunction,
  type ScoreFunctions,
} from "./score-functions.ts";
