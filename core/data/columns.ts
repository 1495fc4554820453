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
 * Parquet gives each struct of a column the fields of all of them, null where it had none. To a chat template or a tool a key that is
 * there means something, so fields that are null are taken away, at every depth; items of lists stay. A null that means something
 * is kept by JSON text in place of a struct.
 */
export function withoutNullFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNullFields);
  if (!isObject(value)) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutNullFields(field)]));
}

/**
 * A column's value as chat messages, as templates want them: without the fields that are null (all but `content`), arguments of tool
 * calls as objects where they are JSON text, and with a `content` where a message has tool calls alone.
 * @throws VerlError VERL_DATA_COLUMN_TYPE naming file, column and row.
 */
export function asMessages(value: unknown, column: string, origin: RowOrigin): ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw wrongType(column, origin, value, "a list of messages, each with role and content");
  }
  return value.map((message: unknown, index) => {
    const callsAlone = isObject(message) && message.content === undefined && Array.isArray(message.tool_calls);
    if (!isObject(message) || typeof message.role !== "string" || !(isContent(message.content) || callsAlone)) {
      throw wrongType(
        `${column}[${index}]`,
        origin,
        message,
        "a message { role: string, content: string or list of parts }",
      );
    }
    if (message.content === null && !Array.isArray(message.tool_calls)) {
      const expected = "text or a list of parts; only a message with tool_calls may have none";
      throw wrongType(`${column}[${index}].content`, origin, null, expected);
    }
    const kept = withoutNullFields(message) as ChatMessage;
    const calls = Array.isArray(kept.tool_calls) && { tool_calls: kept.tool_calls.map(withArgumentsRead) };
    return { ...kept, content: callsAlone ? "" : (kept.content ?? null), ...calls };
  });
}

/** A tool call whose arguments are an object: OpenAI's form has them as JSON text, which a template would encode once more. */
function withArgumentsRead(call: unknown): unknown {
  if (!isObject(call)) return call;
  const read = (of: Record<string, unknown>): Record<string, unknown> => {
    const parsed = typeof of.arguments === "string" ? parseOrUndefined(of.arguments) : undefined;
    return isObject(parsed) ? { ...of, arguments: parsed } : of;
  };
  return isObject(call.function) ? { ...call, function: read(call.function) } : read(call);
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
  const tools = typeof value === "string" ? parseOrUndefined(value) : withoutNullFields(value);
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
    `Column "${column}", row ${row} holds ${describeValue(value)}; expected ${expected}.`,
    {
      location: { file },
      hint: "Convert the column, or name another one in the data section of the config.",
      details: { column, row, expected },
    },
  );
}

/** What a value is, in a few words. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : `a list of ${value.length}`;
  if (value instanceof Uint8Array) return `${value.length} bytes`;
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
