export { batchPlan, type BatchPlan } from "./batch-plan.ts";
export { explain, showExplanation, type Explanation } from "./explain.ts";
export { configJsonSchema } from "./json-schema.ts";
export { loadConfig, type LoadedConfig, type LoadOptions } from "./load.ts";
export { printConfig } from "./print.ts";
export type { ConfigOf, PpoConfig, SchemaName, SftConfig } from "./schema/index.ts";
export { validateSelections } from "./selections.ts";
export type { Note } from "./validate.ts";
