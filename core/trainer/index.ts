export type * from "./tracker.ts";
