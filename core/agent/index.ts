export * from "./agent-loop.ts";
export * from "./interaction.ts";
export * from "./tool-parser.ts";
export * from "./tool.ts";
export type * from "./trajectory.ts";
