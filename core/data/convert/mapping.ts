import { readFile } from "node:fs/promises";
import { LineCounter, parseDocument } from "yaml";
import { VerlError } from "../../errors/verl-error.ts";
import type { ParquetType } from "../parquet/parquet-type.ts";

/** What a mapping file says. */
export interface Mapping {
  /** Column → template of its value. */
  columns: Readonly<Record<string, unknown>>;
  /** Types of columns whose rows do not settle them. */
  types: Readonly<Record<string, ParquetType>>;
}

const MAX_ALIASES = 100;

/** @throws VerlError VERL_DATA_MAPPING with the line. */
export async function readMapping(file: string): Promise<Mapping> {
  const fault = (message: string, line?: number, cause?: unknown): VerlError =>
    new VerlError("VERL_DATA_MAPPING", message, {
      location: { file, line },
      cause,
      hint: "A mapping is YAML: `columns:` with a template for each column, and `types:` where a type is to be named.",
    });
  const source = await readFile(file, "utf8").catch((cause: Error) => {
    throw fault(`The mapping cannot be read: ${cause.message}.`, undefined, cause);
  });
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined)
    throw fault(`It is not valid YAML: ${error.message}.`, lines.linePos(error.pos[0]).line, error);
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (cause) {
    throw fault(`It cannot be read: ${(cause as Error).message}.`, undefined, cause);
  }
  const { columns, types = {}, ...others } = (isMap(value) ? value : {}) as Partial<Mapping>;
  if (!isMap(columns) || Object.keys(columns).length === 0) throw fault("It has no `columns:`.");
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw fault(`It has the key "${unknown}"; its keys are columns and types.`);
  if (!isMap(types) || !Object.values(types).every(isType)) {
    throw fault(
      "`types:` has a value that is no type: string, int32, int64, double, bool, json, a list of one type, or a map of types.",
    );
  }
  return { columns, types };
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function isType(value: unknown): boolean {
  if (typeof value === "string") return ["string", "int32", "int64", "double", "bool", "json"].includes(value);
  if (Array.isArray(value)) return value.length === 1 && isType(value[0]);
  return isMap(value) && Object.keys(value).length > 0 && Object.values(value).every(isType);
}
