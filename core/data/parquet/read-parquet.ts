import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import type { AsyncBuffer, ColumnMetaData, FileMetaData, RowGroup, SchemaTree } from "hyparquet";
import { getTreePath } from "hyparquet/src/schema.js";
import { compressors } from "hyparquet-compressors";
import { assembleRows, isAssemblable, pathKey } from "./assemble-rows.ts";
import type { Row } from "./parquet-type.ts";
import { PARSERS, readLeafColumn, type LeafColumn } from "./value-pages.ts";

/** Reads all rows; lists and structs become arrays and objects, integers are numbers up to ±2^53 − 1 and bigints beyond, binary columns bytes. */
export async function readParquet(file: string): Promise<Row[]> {
  const buffer = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(buffer);
  const schema = parquetSchema(metadata);
  if (!isAssemblable(schema)) return readOtherwise(buffer, metadata);
  const rows: Row[] = [];
  for (const group of metadata.row_groups) for (const row of await readGroup(buffer, group, schema)) rows.push(row);
  return rows;
}

async function readGroup(file: AsyncBuffer, group: RowGroup, schema: SchemaTree): Promise<Row[]> {
  const leaves = new Map<string, LeafColumn>();
  for (const { meta_data: column } of group.columns) {
    if (column === undefined) throw new Error("parquet column metadata is undefined");
    const { path_in_schema: path } = column;
    leaves.set(pathKey(path), readLeafColumn(await readChunk(file, column), column, getTreePath(schema, path)));
  }
  return assembleRows(schema, leaves, Number(group.num_rows));
}

async function readChunk(file: AsyncBuffer, column: ColumnMetaData): Promise<ArrayBuffer> {
  const { dictionary_page_offset: dictionary, data_page_offset: data, total_compressed_size: size } = column;
  // Some writers say 0 where there is no dictionary.
  const start = Number(dictionary && dictionary < data ? dictionary : data);
  return file.slice(start, start + Number(size));
}

/** Maps, variants and the lists of old writers, whose shapes are the package's business. */
async function readOtherwise(file: AsyncBuffer, metadata: FileMetaData): Promise<Row[]> {
  const rows = await parquetReadObjects({ file, metadata, compressors, parsers: PARSERS, utf8: false });
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
