import { VerlError } from "../../errors/verl-error.ts";
import { describeValue } from "../columns.ts";
import { stringifyLosslessJson } from "../lossless-json.ts";
import { isListType, type ParquetType, type Row } from "./parquet-type.ts";

/** A value as the writer takes it. @throws VerlError VERL_DATA_COLUMN_TYPE naming the column and the row. */
export type ToColumn = (value: unknown, row: number) => unknown;

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

const isInt64 = (value: unknown): boolean => {
  const exact = typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
  return typeof exact === "bigint" && exact >= MIN_INT64 && exact <= MAX_INT64;
};

/** Of a scalar type: what it takes, in words and as a test, and how the writer wants it. */
const SCALARS: Readonly<
  Record<Extract<ParquetType, string>, [string, (value: unknown) => boolean, (value: unknown) => unknown]>
> = {
  string: ["a string", (value) => typeof value === "string", (value) => value],
  int32: ["a 32-bit integer", (value) => typeof value === "number" && value === (value | 0), (value) => value],
  int64: ["a 64-bit integer", isInt64, (value) => BigInt(value as number | bigint)],
  double: [
    "a number that a double holds",
    (value) => typeof value === "number" || (typeof value === "bigint" && BigInt(Number(value)) === value),
    Number,
  ],
  bool: ["true or false", (value) => typeof value === "boolean", (value) => value],
  bytes: ["bytes", (value) => value instanceof Uint8Array, (value) => value],
  json: ["any value", () => true, stringifyLosslessJson],
};

/** What makes values of a type ready to write. @param path of the column, then of what is in it: `prompt[].content`. */
export function toColumn(type: ParquetType, path: string): ToColumn {
  const orNull =
    (convert: ToColumn): ToColumn =>
    (value, row) =>
      value === undefined || value === null ? null : convert(value, row);
  if (typeof type === "string") {
    const [expected, fits, convert] = SCALARS[type];
    return orNull((value, row) => {
      if (!fits(value)) throw mismatch(path, row, value, expected);
      return convert(value);
    });
  }
  if (isListType(type)) {
    const item = toColumn(type[0], `${path}[]`);
    return orNull((value, row) => {
      if (!Array.isArray(value)) throw mismatch(path, row, value, "a list");
      return value.map((element) => item(element, row));
    });
  }
  const fields = Object.entries(type).map(([name, field]) => [name, toColumn(field, `${path}.${name}`)] as const);
  return orNull((value, row) => {
    if (typeof value !== "object" || Array.isArray(value)) throw mismatch(path, row, value, "an object");
    return Object.fromEntries(fields.map(([name, convert]) => [name, convert((value as Row)[name], row)]));
  });
}

const mismatch = (path: string, row: number, value: unknown, expected: string): VerlError =>
  new VerlError(
    "VERL_DATA_COLUMN_TYPE",
    `Column "${path}", row ${row} holds ${describeValue(value)}; its type wants ${expected}.`,
    {
      hint: "Mend the value, or the column's type: `types:` of a mapping, the schema of writeParquet.",
      details: { column: path, row, expected },
    },
  );
