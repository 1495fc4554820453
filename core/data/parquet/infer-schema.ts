import { VerlError } from "../../errors/verl-error.ts";
import { isListType, type ParquetSchema, type ParquetType, type Row } from "./parquet-type.ts";

/** A type that is not settled yet: nothing but nulls and empty lists so far. */
type Open = { kind: "null" } | ScalarType | { kind: "list"; item: Open } | StructType | Mixed;
interface ScalarType {
  kind: "scalar";
  type: Scalar;
  /** Some of the integers are beyond ±2^53, where a double has not all of them. */
  big?: boolean;
}
interface StructType {
  kind: "struct";
  fields: Map<string, Open>;
}
interface Mixed {
  kind: "mixed";
  types: string;
}
type Scalar = Extract<ParquetType, string>;

const NULL: Open = { kind: "null" };
const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;
/** Levels of lists and structs in a column. */
const DEEPEST = 50;

/**
 * Column types that hold every row: numbers that are all whole are int64, structs have the fields of all, a value of several types
 * is JSON text where `mixed` is `json`.
 * @throws VerlError VERL_DATA_COLUMN_TYPE for a value of several types, or of one that parquet has no place for.
 */
export function inferSchema(
  rows: readonly Row[],
  { mixed = "refuse" }: { mixed?: "refuse" | "json" } = {},
): ParquetSchema {
  const columns = new Map<string, Open>();
  for (const row of rows)
    for (const [name, value] of Object.entries(row)) columns.set(name, unify(columns.get(name) ?? NULL, typeOf(value)));
  return Object.fromEntries([...columns].map(([name, type]) => [name, settle(type, name, mixed, name)]));
}

/** `list<struct<role: string, content: string>>`. */
export function typeText(type: ParquetType): string {
  if (typeof type === "string") return type;
  if (isListType(type)) return `list<${typeText(type[0])}>`;
  return `struct<${Object.entries(type)
    .map(([name, field]) => `${name}: ${typeText(field)}`)
    .join(", ")}>`;
}

function typeOf(value: unknown, depth = 0): Open {
  if (value === null || value === undefined) return NULL;
  if (typeof value === "string") return { kind: "scalar", type: "string" };
  if (typeof value === "boolean") return { kind: "scalar", type: "bool" };
  if (typeof value === "number") return { kind: "scalar", type: Number.isSafeInteger(value) ? "int64" : "double" };
  if (value instanceof Uint8Array) return { kind: "scalar", type: "bytes" };
  if (typeof value === "bigint") {
    const fits = value >= MIN_INT64 && value <= MAX_INT64;
    return fits
      ? { kind: "scalar", type: "int64", big: true }
      : { kind: "mixed", types: "integers beyond those of 64 bits with a sign" };
  }
  if (depth === DEEPEST) return { kind: "mixed", types: `more than ${DEEPEST} levels of lists and structs` };
  if (Array.isArray(value))
    return { kind: "list", item: value.map((item) => typeOf(item, depth + 1)).reduce(unify, NULL) };
  if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null) {
    const fields = Object.entries(value).map(([name, field]) => [name, typeOf(field, depth + 1)] as const);
    return { kind: "struct", fields: new Map(fields) };
  }
  return { kind: "mixed", types: value.constructor.name };
}

function unify(a: Open, b: Open): Open {
  if (a.kind === "null") return b;
  if (b.kind === "null") return a;
  if (a.kind === "scalar" && b.kind === "scalar") {
    if (a.type === b.type) return b.big ? b : a;
    const numbers = [a.type, b.type].every((type) => type === "int64" || type === "double");
    if (numbers && (a.big || b.big)) return { kind: "mixed", types: "integers beyond 2^53 and fractions" };
    return numbers ? { kind: "scalar", type: "double" } : { kind: "mixed", types: `${a.type} and ${b.type}` };
  }
  if (a.kind === "list" && b.kind === "list") return { kind: "list", item: unify(a.item, b.item) };
  if (a.kind === "struct" && b.kind === "struct") {
    const fields = new Map(a.fields);
    for (const [name, type] of b.fields) fields.set(name, unify(fields.get(name) ?? NULL, type));
    return { kind: "struct", fields };
  }
  if (a.kind === "mixed") return a;
  return b.kind === "mixed" ? b : { kind: "mixed", types: `${named(a)} and ${named(b)}` };
}

const named = (type: Open): string => (type.kind === "scalar" ? type.type : type.kind);

function settle(type: Open, path: string, mixed: "refuse" | "json", column: string): ParquetType {
  switch (type.kind) {
    case "null":
      return "string";
    case "scalar":
      return type.type;
    case "list":
      return [settle(type.item, `${path}[]`, mixed, column)];
    case "struct":
      // Parquet has no struct without fields.
      if (type.fields.size === 0) return "json";
      return Object.fromEntries(
        [...type.fields].map(([name, field]) => [name, settle(field, `${path}.${name}`, mixed, column)]),
      );
    case "mixed":
      if (mixed === "json") return "json";
      throw new VerlError(
        "VERL_DATA_COLUMN_TYPE",
        `The column "${path}" holds ${type.types}, for which no column type is written.`,
        {
          hint: `Give it one type in all rows, or write it as JSON text: \`types: { ${column}: json }\` in the mapping.`,
          details: { column: path },
        },
      );
  }
}
