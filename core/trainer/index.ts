export type * from "./tracker.ts";
export * from "./checkpoint/index.ts";
export * from "./metrics/index.ts";
