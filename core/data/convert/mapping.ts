import { isPair, isScalar, LineCounter, parseDocument, visit, type Document } from "yaml";
import { isVerlError, VerlError } from "../../errors/verl-error.ts";
import type { ParquetType } from "../parquet/parquet-type.ts";
import { readText } from "../text-file.ts";
import { compileTemplate, type Fill } from "./template.ts";

/** What a mapping file says. */
export interface Mapping {
  /** Column → what fills it. */
  columns: Readonly<Record<string, Fill>>;
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
  const source = await readText(file).catch((cause: Error) => {
    throw isVerlError(cause) ? cause : fault(`The mapping cannot be read: ${cause.message}.`, undefined, cause);
  });
  const lines = new LineCounter();
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined)
    throw fault(`It is not valid YAML: ${error.message}.`, lines.linePos(error.pos[0]).line, error);
  const bare = fieldWithoutQuotes(document);
  if (bare !== undefined)
    throw fault(
      `{${bare.name}} is a map in YAML; a field needs quotes, "{${bare.name}}".`,
      lines.linePos(bare.at).line,
    );
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
    // A map that holds itself would be filled without end.
    JSON.stringify(value);
  } catch (cause) {
    throw fault(`It cannot be read: ${(cause as Error).message}.`, undefined, cause);
  }
  const { columns, types = {}, ...others } = (isMap(value) ? value : {}) as { columns?: unknown; types?: unknown };
  if (!isMap(columns) || Object.keys(columns).length === 0) throw fault("It has no `columns:`.");
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw fault(`It has the key "${unknown}"; its keys are columns and types.`);
  if (!isMap(types) || !Object.values(types).every(isType)) {
    throw fault(
      "`types:` has a value that is no type: string, int32, int64, double, bool, bytes, json, a list of one type, or a map of types.",
    );
  }
  const idle = Object.keys(types).find((column) => !Object.hasOwn(columns, column));
  if (idle !== undefined) throw fault(`\`types:\` names the column "${idle}", which \`columns:\` does not have.`);
  const compiled = Object.entries(columns).map(
    ([column, template]) => [column, compile(column, template, file)] as const,
  );
  return { columns: Object.fromEntries(compiled), types: types as Mapping["types"] };
}

function compile(column: string, template: unknown, file: string): Fill {
  try {
    return compileTemplate(template);
  } catch (cause) {
    if (!isVerlError(cause)) throw cause;
    const message = `Column "${column}": ${cause.message}`;
    throw new VerlError(cause.code, message, { hint: cause.hint, cause, location: { file }, details: { column } });
  }
}

/** A `{question}` that YAML has read as a map with a key and nothing else. */
function fieldWithoutQuotes(document: Document): { name: string; at: number } | undefined {
  let found: { name: string; at: number } | undefined;
  visit(document, {
    Map(_, { flow, items }) {
      const [pair] = items;
      if (!flow || items.length !== 1 || !isPair(pair) || pair.value !== null || !isScalar(pair.key)) return undefined;
      found = { name: String(pair.key.value), at: pair.key.range?.[0] ?? 0 };
      return visit.BREAK;
    },
  });
  return found;
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function isType(value: unknown): boolean {
  if (typeof value === "string") return ["string", "int32", "int64", "double", "bool", "bytes", "json"].includes(value);
  if (Array.isArray(value)) return value.length === 1 && isType(value[0]);
  return isMap(value) && Object.keys(value).length > 0 && Object.values(value).every(isType);
}
