import type { FieldSchema } from "./field.ts";
import { ppoSection } from "./ppo.ts";
import { sftSection } from "./sft.ts";

export type { PpoConfig } from "./ppo.ts";
export type { SftConfig } from "./sft.ts";

/** Names of the config trees: that of `verl train` and that of `verl sft`. */
export type SchemaName = "ppo" | "sft";

/** The one source of keys, types, bounds, defaults and descriptions. */
export const SCHEMAS: Readonly<Record<SchemaName, FieldSchema>> = { ppo: ppoSection.schema, sft: sftSection.schema };
