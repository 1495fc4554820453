export type * from "./tracker.ts";
export * from "./checkpoint/index.ts";
export * from "./metrics/index.ts";
export * from "./progress/index.ts";
export * from "./report/index.ts";
export * from "./rollout-log/index.ts";
export { Trackers } from "./trackers.ts";
export { PpoTrainer } from "./ppo-trainer.ts";
export type { TrainerOptions } from "./run-options.ts";
export type { FitResult } from "./run-record.ts";
export { SftTrainer } from "./sft-trainer.ts";
export {
  ActorRolloutRefWorker,
  type ActorRolloutRefOptions,
  type GenerateOptions,
} from "./workers/actor-rollout-ref-worker.ts";
export { CriticWorker, type CriticOptions } from "./workers/critic-worker.ts";
export { RewardWorker } from "./workers/reward-worker.ts";
export { SftWorker, type SftWorkerOptions } from "./workers/sft-worker.ts";
