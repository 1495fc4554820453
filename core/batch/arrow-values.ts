import type { DataType } from "apache-arrow";
import { Bool, Data, Field, Float32, Float64, Int32, Int64, List, Struct, Uint8, Utf8 } from "apache-arrow";
import { STORED_AS } from "./arrow-format.ts";
import { isPlainObject, MAX_DEPTH, tooDeep, toTaggedJson, typedName } from "./tagged-json.ts";

/** A named column in Arrow's terms. */
export interface ArrowColumn {
  field: Field;
  data: Data;
}

/** How a list of values is stored. `json`: values without a common type, or that no Arrow type holds exactly. */
type Kind = "null" | "boolean" | "int32" | "float64" | "int64" | "utf8" | "list" | "struct" | "typed" | "json";

const TYPED_ELEMENT = {
  Float32Array: () => new Float32(),
  Float64Array: () => new Float64(),
  Int32Array: () => new Int32(),
  BigInt64Array: () => new Int64(),
  Uint8Array: () => new Uint8(),
};

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** Stores one value a row so that reading gives back equal values. `null` is Arrow's null; every other value is kept exactly. */
export function encodeColumn(name: string, values: readonly unknown[]): ArrowColumn {
  return encode(name, values, `Column "${name}"`, 0);
}

function encode(name: string, values: readonly unknown[], where: string, depth: number): ArrowColumn {
  if (depth > MAX_DEPTH) throw tooDeep(where);
  const kind = commonKind(values);
  const column = (type: DataType, buffers: object, children?: Data[], stored: string = kind): ArrowColumn => ({
    field: new Field(name, type, true, new Map([[STORED_AS, stored]])),
    data: new Data(type, 0, values.length, ...validity(values, buffers), children),
  });
  switch (kind) {
    case "null":
    case "boolean":
      return column(new Bool(), { 1: bits(values, (value) => value === true) });
    case "int32":
      return column(new Int32(), { 1: Int32Array.from(values as number[]) });
    case "float64":
      return column(new Float64(), { 1: Float64Array.from(values as number[]) });
    case "int64":
      return column(new Int64(), { 1: BigInt64Array.from(values, (value) => (value as bigint | null) ?? 0n) });
    case "utf8":
      return column(new Utf8(), text(values as (string | null)[]));
    case "json": {
      // Here null is a value like others, so that nothing is lost in a mixed column.
      const json = values.map((value, row) => toTaggedJson(value, `${where}, row ${row},`));
      const type = new Utf8();
      return {
        field: new Field(name, type, true, new Map([[STORED_AS, kind]])),
        data: new Data(type, 0, values.length, 0, text(json)),
      };
    }
    case "typed": {
      const arrays = values as (Float32Array | null)[];
      const typed = typedName(arrays.find((array) => array !== null))!;
      const type = TYPED_ELEMENT[typed]();
      const ends = offsets(arrays);
      const all = new (globalThis[typed] as Float32ArrayConstructor)(ends[values.length]!);
      arrays.forEach((array, row) => array && all.set(array, ends[row]));
      const items = new Data(type, 0, all.length, 0, { 1: all });
      return column(new List(new Field("item", type, false)), { 0: ends }, [items], typed);
    }
    case "list": {
      const lists = values as (unknown[] | null)[];
      const items = encode(
        "item",
        lists.flatMap((list) => (list ? Array.from(list) : [])),
        where,
        depth + 1,
      );
      return column(new List(items.field), { 0: offsets(lists) }, [items.data]);
    }
    case "struct": {
      const objects = values as (Record<string, unknown> | null)[];
      const keys = Object.keys(objects.find((object) => object !== null)!);
      const children = keys.map((key) =>
        encode(
          key,
          objects.map((object) => (object === null ? null : object[key])),
          `${where}, key "${key}"`,
          depth + 1,
        ),
      );
      const data = children.map((child) => child.data);
      return column(new Struct(children.map((child) => child.field)), {}, data);
    }
  }
}

/** The one kind that holds every value, `null` standing for itself in each. */
function commonKind(values: readonly unknown[]): Kind {
  let kind: Kind = "null";
  let first: unknown;
  for (const value of values) {
    if (value === null) continue;
    const next = kindOf(value);
    if (kind === "null") {
      kind = next;
      first = value;
    } else if (kind !== next) {
      const numeric = (kind === "int32" || kind === "float64") && (next === "int32" || next === "float64");
      if (!numeric) return "json";
      kind = "float64";
    } else if (kind === "typed" && typedName(first) !== typedName(value)) {
      return "json";
    } else if (kind === "struct" && !sameKeys(first as object, value as object)) {
      return "json";
    }
  }
  return kind;
}

function kindOf(value: unknown): Kind {
  switch (typeof value) {
    case "boolean":
      return "boolean";
    case "number":
      return value === (value | 0) && !Object.is(value, -0) ? "int32" : "float64";
    case "bigint":
      return value >= INT64_MIN && value <= INT64_MAX ? "int64" : "json";
    case "string":
      // A lone surrogate has no UTF-8; JSON escapes it.
      return isUtf8(value) ? "utf8" : "json";
    case "object":
      if (Array.isArray(value)) return "list";
      if (typedName(value)) return "typed";
      return isPlainObject(value) && isStruct(Object.keys(value)) ? "struct" : "json";
    case "undefined":
    case "function":
    case "symbol":
      return "json";
  }
}

/** Arrow's JavaScript reader loses empty names. */
export function isFieldName(key: string): boolean {
  return key !== "" && isUtf8(key);
}

function isStruct(keys: readonly string[]): boolean {
  return keys.length > 0 && keys.every(isFieldName);
}

function isUtf8(value: string): boolean {
  return !/\p{Surrogate}/u.test(value);
}

function sameKeys(a: object, b: object): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key));
}

/** Null count and the buffers with a validity bitmap, where there are nulls. */
function validity(values: readonly unknown[], buffers: object): [number, never] {
  const nulls = values.reduce<number>((count, value) => count + (value === null ? 1 : 0), 0);
  return [nulls, (nulls === 0 ? buffers : { ...buffers, 2: bits(values, (value) => value !== null) }) as never];
}

function bits(values: readonly unknown[], test: (value: unknown) => boolean): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(values.length / 8));
  values.forEach((value, i) => {
    if (test(value)) bytes[i >> 3]! |= 1 << (i & 7);
  });
  return bytes;
}

function offsets(lists: readonly (ArrayLike<unknown> | null)[]): Int32Array {
  const ends = new Int32Array(lists.length + 1);
  lists.forEach((list, row) => (ends[row + 1] = ends[row]! + (list?.length ?? 0)));
  return ends;
}

function text(values: readonly (string | null)[]): { 0: Int32Array; 1: Uint8Array } {
  const rows = values.map((value) => (value === null ? null : Buffer.from(value, "utf8")));
  return { 0: offsets(rows), 1: Buffer.concat(rows.filter((row) => row !== null)) };
}
