import { rename, rm, writeFile } from "node:fs/promises";
import { ByteWriter, parquetWrite } from "hyparquet-writer";
import { isListType, type ParquetSchema, type ParquetType, type Row } from "./parquet-type.ts";
import { toColumn } from "./to-column.ts";

type SchemaElement = NonNullable<Parameters<typeof parquetWrite>[0]["schema"]>[number];

/**
 * Writes rows as a parquet file whose lists and structs other readers (pandas, Arrow, DuckDB) understand. The file is there when it is
 * whole.
 * @param schema type of each column, in the order in which the columns are written; what it does not name is left out.
 * @throws VerlError VERL_DATA_COLUMN_TYPE for a value that its column's type has no place for.
 */
export async function writeParquet(file: string, rows: readonly Row[], schema: ParquetSchema): Promise<void> {
  const columns = Object.entries(schema);
  const writer = new ByteWriter();
  await parquetWrite({
    writer,
    columnData: columns.map(([name, type]) => {
      const convert = toColumn(type, name);
      return { name, data: rows.map((row, index) => convert(row[name], index)) };
    }),
    schema: [
      { name: "root", num_children: columns.length },
      ...columns.flatMap(([name, type]) => elements(name, type)),
    ],
    statistics: false,
  });
  const part = `${file}.${process.pid}.part`;
  try {
    await writeFile(part, new Uint8Array(writer.getBuffer()));
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

const SCALARS = {
  string: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  int32: { type: "INT32" },
  int64: { type: "INT64" },
  double: { type: "DOUBLE" },
  bool: { type: "BOOLEAN" },
  bytes: { type: "BYTE_ARRAY" },
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
