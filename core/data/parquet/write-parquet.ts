import { writeFile } from "node:fs/promises";
import { ByteWriter, parquetWrite } from "hyparquet-writer";
import { stringifyLosslessJson } from "../lossless-json.ts";
import { isListType, type ParquetSchema, type ParquetType, type Row } from "./parquet-type.ts";

type SchemaElement = NonNullable<Parameters<typeof parquetWrite>[0]["schema"]>[number];

/**
 * Writes rows as a parquet file whose lists and structs other readers (pandas, Arrow, DuckDB) understand.
 * @param schema type of each column, in the order in which the columns are written.
 */
export async function writeParquet(file: string, rows: readonly Row[], schema: ParquetSchema): Promise<void> {
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
  json: { type: "BYTE_ARRAY", converted_type: "UTF8" },
} as const satisfies Record<string, Partial<SchemaElement>>;

/** The schema tree of one column, flattened depth first as parquet wants it. */
function elements(name: string, type: ParquetType): SchemaElement[] {
  if (typeof type === "string") return [{ name, repetition_type: "OPTIONAL", ...SCALARS[type] }];
  if (isListType(type)) {
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
  if (type === "json") return stringifyLosslessJson(value);
  if (typeof type === "string") return value;
  if (isListType(type)) return (value as unknown[]).map((element) => toColumnValue(element, type[0]));
  const fields = value as Row;
  return Object.fromEntries(
    Object.entries(type).map(([field, fieldType]) => [field, toColumnValue(fields[field], fieldType)]),
  );
}
