export { JsonLinesFile } from "./json-lines.ts";
export { RolloutLog, type RolloutLogOptions } from "./rollout-log.ts";
export { type RolloutRow } from "./rollout-rows.ts";
