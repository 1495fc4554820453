export type * from "./reward-manager.ts";
