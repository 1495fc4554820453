export type * from "./tracker.ts";
export * from "./checkpoint/index.ts";
export * from "./metrics/index.ts";
export * from "./progress/index.ts";
export * from "./report/index.ts";
export * from "./rollout-log/index.ts";
export { Trackers } from "./trackers.ts";
