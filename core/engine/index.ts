export type * from "./role-config.ts";
export type * from "./rollout-engine.ts";
export type * from "./training-engine.ts";
