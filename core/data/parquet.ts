import { writeFile } from "node:fs/promises";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { ByteWriter, parquetWrite } from "hyparquet-writer";
import { parseLosslessJson } from "./lossless-json.ts";

const utf8 = new TextDecoder();

type SchemaElement = NonNullable<Parameters<typeof parquetWrite>[0]["schema"]>[number];

/** A dataset row as it lies in the file. */
export type Row = Record<string, unknown>;

/**
 * Type of a parquet column: a scalar, `[type]` for a list, an object for a struct. Every value may be null.
 *
 *     { prompt: [{ role: "string", content: "string" }], reward_model: { ground_truth: "string" } }
 */
export type ParquetType =
  "string" | "int32" | "int64" | "double" | "bool" | readonly [ParquetType] | { readonly [field: string]: ParquetType };

/** Reads all rows; lists and structs become arrays and objects, integers are numbers up to ±2^53 − 1 and bigints beyond. */
export async function readParquet(file: string): Promise<Row[]> {
  const buffer = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(buffer);
  const parsers = { jsonFromBytes: (bytes: Uint8Array | undefined) => bytes && parseLosslessJson(utf8.decode(bytes)) };
  const rows = await parquetReadObjects({ file: buffer, metadata, compressors, parsers });
  if (!metadata.schema.some((element) => element.type === "INT64")) return rows;
  return rows.map((row) => narrow(row) as Row);
}

/** Parquet's 64-bit integers arrive as bigint; those that a number holds exactly become numbers, in place. */
function narrow(value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : value;
  }
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) value[i] = narrow(value[i]);
  } else if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    const fields = value as Row;
    for (const key of Object.keys(fields)) fields[key] = narrow(fields[key]);
  }
  return value;
}

/**
 * Writes rows as a parquet file whose lists and structs other readers (pandas, Arrow, DuckDB) understand.
 * @param schema type of each column, in the order in which the columns are written.
 */
export async function writeParquet(
  file: string,
  rows: readonly Row[],
  schema: Readonly<Record<string, ParquetType>>,
): Promise<void> {
  const columns = Object.entries(schema);
  const writer = new ByteWriter();
  await parquetWrite({
    writer,
    columnData: columns.map(([name, type]) => ({ name, data: rows.map((row) => toColumnValue(row[name], type)) })),
    schema: [
      { name: "root", num_children: columns.length },
      ...columns.flatMap(([name, type]) => elements(name, type)),
    ],
    statistics: false,
  });
  await writeFile(file, new Uint8Array(writer.getBuffer()));
}

const SCALARS = {
  string: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  int32: { type: "INT32" },
  int64: { type: "INT64" },
  double: { type: "DOUBLE" },
  bool: { type: "BOOLEAN" },
} as const satisfies Record<string, Partial<SchemaElement>>;

/** The schema tree of one column, flattened depth first as parquet wants it. */
function elements(name: string, type: ParquetType): SchemaElement[] {
  if (typeof type === "string") return [{ name, repetition_type: "OPTIONAL", ...SCALARS[type] }];
  if (isList(type)) {
    return [
      { name, repetition_type: "OPTIONAL", num_children: 1, converted_type: "LIST" },
      { name: "list", repetition_type: "REPEATED", num_children: 1 },
      ...elements("element", type[0]),
    ];
  }
  const fields = Object.entries(type);
  return [
    { name, repetition_type: "OPTIONAL", num_children: fields.length },
    ...fields.flatMap(([field, fieldType]) => elements(field, fieldType)),
  ];
}

function toColumnValue(value: unknown, type: ParquetType): unknown {
  if (value === undefined || value === null) return null;
  if (type === "int64") return BigInt(value as number | bigint);
  if (typeof type === "string") return value;
  if (isList(type)) return (value as unknown[]).map((element) => toColumnValue(element, type[0]));
  const fields = value as Row;
  return Object.fromEntries(
    Object.entries(type).map(([field, fieldType]) => [field, toColumnValue(fields[field], fieldType)]),
  );
}

function isList(type: Exclude<ParquetType, string>): type is readonly [ParquetType] {
  return Array.isArray(type);
}
