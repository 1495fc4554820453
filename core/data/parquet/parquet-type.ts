/** A dataset row as it lies in the file. */
export type Row = Record<string, unknown>;

/**
 * Type of a parquet column: a scalar, `[type]` for a list, an object for a struct. `json` is any value, written as JSON text. Every
 * value may be null.
 *
 *     { prompt: [{ role: "string", content: "string" }], reward_model: { ground_truth: "string" } }
 */
export type ParquetType =
  | "string"
  | "int32"
  | "int64"
  | "double"
  | "bool"
  | "bytes"
  | "json"
  | readonly [ParquetType]
  | { readonly [field: string]: ParquetType };

/** Types of a file's columns, in the order in which they are written. */
export type ParquetSchema = Readonly<Record<string, ParquetType>>;

/** True for `[type]`, a list. */
export function isListType(type: ParquetType): type is readonly [ParquetType] {
  return Array.isArray(type);
}
