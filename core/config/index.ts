export type { PpoConfig, SchemaName, SftConfig } from "./schema/index.ts";
