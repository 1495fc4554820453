import { isVerlError, VerlError } from "../../errors/verl-error.ts";
import { inferSchema } from "../parquet/infer-schema.ts";
import type { ParquetSchema, Row } from "../parquet/parquet-type.ts";
import { chatMessages } from "./chat-messages.ts";
import type { Mapping } from "./mapping.ts";

/**
 * Rows in verl's columns and their types. Without a mapping rows stay as they are, but that a column `conversations` (ShareGPT)
 * becomes `messages`.
 * @throws VerlError VERL_DATA_MAPPING naming the row and column, VERL_DATA_COLUMN_TYPE
 */
export function convertRows(
  rows: readonly Row[],
  mapping: Mapping | undefined,
  file: string,
): { rows: Row[]; schema: ParquetSchema } {
  const converted = rows.map((row, index) => (mapping ? mapped(row, index, mapping, file) : plain(row, index, file)));
  const types = mapping?.types ?? {};
  const open = converted.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !(name in types))));
  const inferred = inferSchema(open);
  const names = [...new Set(converted.flatMap((row) => Object.keys(row)))];
  return { rows: converted, schema: Object.fromEntries(names.map((name) => [name, types[name] ?? inferred[name]!])) };
}

function mapped(row: Row, index: number, { columns }: Mapping, file: string): Row {
  const scope = { ...row, row_index: index };
  return Object.fromEntries(
    Object.entries(columns).map(([column, fill]) => {
      try {
        return [column, fill(scope)];
      } catch (error) {
        throw isVerlError(error) ? atRow(error, index, column, file) : error;
      }
    }),
  );
}

function plain(row: Row, index: number, file: string): Row {
  if (!Array.isArray(row.conversations) || "messages" in row) return row;
  const { conversations, ...others } = row;
  try {
    return { messages: chatMessages(conversations), ...others };
  } catch (cause) {
    const message = `The field "conversations" ${(cause as Error).message}.`;
    const hint = "A conversation is a list of { role, content }, or of { from, value }.";
    throw atRow(new VerlError("VERL_DATA_MAPPING", message, { cause, hint }), index, "messages", file);
  }
}

const atRow = (error: VerlError, row: number, column: string, file: string): VerlError =>
  new VerlError(error.code, `Row ${row}, column "${column}": ${error.message}`, {
    hint: error.hint,
    cause: error,
    location: { file },
    details: { row, column },
  });
