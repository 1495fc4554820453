import type { FieldSchema } from "./field.ts";
import { ppoSection, type PpoConfig } from "./ppo.ts";
import { sftSection, type SftConfig } from "./sft.ts";

export type { PpoConfig, SftConfig };

/** Config type of each command. */
export interface ConfigTypes {
  ppo: PpoConfig;
  sft: SftConfig;
}

/** Names of the config trees: that of `verl train` and that of `verl sft`. */
export type SchemaName = keyof ConfigTypes;
/** The config tree of a schema, defaults filled in. */
export type ConfigOf<S extends SchemaName> = ConfigTypes[S];

/** The one source of keys, types, bounds, defaults and descriptions. */
export const SCHEMAS: Readonly<Record<SchemaName, FieldSchema>> = { ppo: ppoSection.schema, sft: sftSection.schema };
