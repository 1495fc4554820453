import { VerlError } from "../errors/verl-error.ts";
import { parseLosslessJson } from "./lossless-json.ts";
import type { Row } from "./parquet/parquet-type.ts";
import type { ChatMessage } from "./tokenizer.ts";

/** Where a row came from, for messages. */
export interface RowOrigin {
  file: string;
  /** 0-based row of that file. */
  row: number;
}

/** @throws VerlError VERL_DATA_COLUMN_MISSING when no row of a file has the column. */
export function requireColumn(rows: readonly Row[], column: string, file: string, option: string): void {
  if (rows.some((row) => column in row)) return;
  const found = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  throw new VerlError(
    "VERL_DATA_COLUMN_MISSING",
    `The dataset has no column "${column}". Its columns are ${found.join(", ")}.`,
    {
      location: { file },
      hint: `Set ${option} to the column that holds it.`,
      details: { column, found },
    },
  );
}

/**
 * A column's value as chat messages. Parquet gives every struct of a list the union of all fields, so fields that are null are
 * taken away (all but `content`): to a template, a key that is there means something.
 * @throws VerlError VERL_DATA_COLUMN_TYPE naming file, column and row.
 */
export function asMessages(value: unknown, column: string, origin: RowOrigin): ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw wrongType(column, origin, value, "a list of messages, each with role and content");
  }
  return value.map((message: unknown, index) => {
    if (!isObject(message) || typeof message.role !== "string" || !isContent(message.content)) {
      throw wrongType(
        `${column}[${index}]`,
        origin,
        message,
        "a message { role: string, content: string or list of parts }",
      );
    }
    const fields = Object.entries(message).filter(
      ([key, field]) => key === "content" || (field !== null && field !== undefined),
    );
    return Object.fromEntries(fields) as ChatMessage;
  });
}

/** @throws VerlError VERL_DATA_COLUMN_TYPE */
export function asString(value: unknown, column: string, origin: RowOrigin): string {
  if (typeof value === "string") return value;
  throw wrongType(column, origin, value, "a string");
}

/** An object column; null and absent are `{}`. @throws VerlError VERL_DATA_COLUMN_TYPE */
export function asObject(value: unknown, column: string, origin: RowOrigin): Record<string, unknown> {
  if (value === null || value === undefined) return {};
  if (isObject(value)) return value;
  throw wrongType(column, origin, value, "an object (a struct in parquet)");
}

/**
 * Tool schemas of a row; parquet files often carry them as JSON text, since their fields differ from tool to tool. Absent is `[]`.
 * @throws VerlError VERL_DATA_COLUMN_TYPE
 */
export function readTools(value: unknown, column: string, origin: RowOrigin): Record<string, unknown>[] {
  if (value === undefined || value === null) return [];
  const tools = typeof value === "string" ? parseOrUndefined(value) : value;
  if (!Array.isArray(tools)) throw wrongType(column, origin, value, "a list of tool schemas, or one as JSON text");
  return tools.map((tool: unknown, index) => asObject(tool, `${column}[${index}]`, origin));
}

function parseOrUndefined(text: string): unknown {
  try {
    return parseLosslessJson(text);
  } catch {
    return undefined;
  }
}

/** The error for a value of another type than expected. */
export function wrongType(column: string, { file, row }: RowOrigin, value: unknown, expected: string): VerlError {
  return new VerlError(
    "VERL_DATA_COLUMN_TYPE",
    `Column "${column}", row ${row} holds ${describe(value)}; expected ${expected}.`,
    {
      location: { file },
      hint: "Convert the column, or name another one in the data section of the config.",
      details: { column, row, expected },
    },
  );
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `a list of ${value.length}`;
  if (typeof value === "object") return `an object with ${Object.keys(value).join(", ") || "no fields"}`;
  const text = typeof value === "string" ? value : `${value as number}`;
  return `the ${typeof value} ${JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isContent(value: unknown): boolean {
  return typeof value === "string" || value === null || (Array.isArray(value) && value.every(isObject));
}
