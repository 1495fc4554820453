export { AnswerRewardManager, type AnswerRow, type ScoredAnswer } from "./answer-reward-manager.ts";
export { readAnswers, type Answer } from "./answers.ts";
export { DeadlineError, withDeadline, withGrace } from "./deadline.ts";
export { needsGroundTruth } from "./ground-truth.ts";
export type { Isolation } from "./pool/lane.ts";
export type { PoolOptions } from "./pool/score-pool.ts";
export { mapConcurrent } from "./map-concurrent.ts";
export {
  RewardManager,
  type RewardManagerEntry,
  type RewardScore,
  type RewardSession,
  type SampleReward,
  type ScoreFunction,
  type ScoreInput,
  type ScoreResult,
} from "./reward-manager.ts";
export { RewardStream } from "./reward-stream.ts";
export { toSampleReward, unscored, unscoredClass, type UnscoredClass } from "./sample-reward.ts";
export { reportTimes, reportUnscored, type CallTime } from "./score-report.ts";
export { requireScored, responseLengths, REWARD_SCORE, scoreBatch, unscoredMetrics } from "./score-batch.ts";
export { failedReward, type BatchScoreInput, type ScoreCall, type Scored } from "./score-call.ts";
export { createScorer, type Scorer, type ScorerOptions } from "./scorer.ts";
export { askService, type ServiceQuestion } from "./service/ask-service.ts";
export { JsonClient, type JsonClientOptions } from "./service/json-client.ts";
export { Limiter } from "./service/limiter.ts";
export { ServiceCalls, type ServiceLimits } from "./service/service-calls.ts";
export { fetchFailure, isTransient, ServiceError } from "./service/service-error.ts";
export { TokenBucket } from "./service/token-bucket.ts";
export { withRetries, type RetryPause } from "./service/with-retries.ts";
export {
  loadScoreFunctions,
  SCORE_FUNCTIONS,
  thrownAt,
  type CustomRewardFunction,
  type ScoreFunctions,
  type ScoreSource,
} from "./score-functions.ts";
