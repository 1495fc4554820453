export * from "./agent-loop.ts";
export { assembleTrajectories, type AssembledTrajectories, type AssembleOptions } from "./assemble.ts";
export * from "./interaction.ts";
export { LoopRunner, type LoopRunnerOptions, type LoopRunOptions, type LoopRunResult } from "./loop-runner.ts";
export * from "./tool-parser.ts";
export * from "./tool-parsing/index.ts";
export * from "./tool.ts";
export * from "./trajectory.ts";
