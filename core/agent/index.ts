export type * from "./agent-loop.ts";
export type * from "./trajectory.ts";
