/**
 * The public face of the SDK: what plugins and programs need. Nothing else is public but `verl/testing` and the built-in plugin,
 * `verl/plugins`. Of config and trainer only what starts a run is here; the rest is the command line's.
 */
export * from "./errors/index.ts";
export * from "./registry/index.ts";
export type * from "./config/index.ts";
export { loadConfig, loadRunConfig } from "./config/index.ts";
export * from "./batch/index.ts";
export * from "./tensor/index.ts";
export * from "./algorithm/index.ts";
export * from "./engine/index.ts";
export * from "./data/index.ts";
export * from "./reward/index.ts";
export * from "./agent/index.ts";
export * from "./controller/index.ts";
export type * from "./trainer/index.ts";
export { JsonLinesFile, PpoTrainer, processValidationMetrics, SftTrainer, Trackers } from "./trainer/index.ts";
// Ranks in other threads and processes import these by name from the package.
export { ActorRolloutRefWorker, AgentLoopWorker, CriticWorker, RewardWorker, SftWorker } from "./trainer/index.ts";
