import { VerlError } from "../errors/verl-error.ts";

/**
 * JSON that keeps what JSON alone would lose. A value outside JSON is `{ "$": its type, "value": … }`: NaN, ±Infinity, −0, bigint,
 * undefined, dates and typed arrays. An object that has a "$" key of its own is written as `{ "$": "object", "value": entries }`.
 */
export function toTaggedJson(value: unknown, where: string): string {
  return JSON.stringify(toTagged(value, where));
}

export function fromTaggedJson(text: string): unknown {
  return fromTagged(JSON.parse(text));
}

/** A value of a type of the caller's own, under the name of that type; undefined for all others. */
export type TagOwn = (value: unknown, tag: (inner: unknown) => unknown) => { $: string; value: unknown } | undefined;

/** The value that `TagOwn` wrote under the name `type`; undefined for names of others. */
export type UntagOwn = (type: string, value: unknown, untag: (inner: unknown) => unknown) => unknown;

/** The tagged JSON data of a value, before it is text. @param own is asked first. */
export function toTagged(value: unknown, where: string, own?: TagOwn): unknown {
  return tag(value, where, 0, own);
}

/** The value of tagged JSON data. @throws TypeError for a tag that neither this module nor `own` knows. */
export function fromTagged(data: unknown, own?: UntagOwn): unknown {
  return untag(data, own);
}

/** Nested deeper than this is taken for a cycle. */
export const MAX_DEPTH = 64;

const TYPED = { Float32Array, Float64Array, Int32Array, BigInt64Array, Uint8Array };
type TypedName = keyof typeof TYPED;

/** Name of the class of a typed array that batches carry, else undefined. */
export function typedName(value: unknown): TypedName | undefined {
  return (Object.keys(TYPED) as TypedName[]).find((name) => value instanceof TYPED[name]);
}

/** True for `{ … }` and `Object.create(null)`, false for instances of classes. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function unstorable(value: unknown, where: string): VerlError {
  const what =
    typeof value === "object"
      ? `an instance of ${value?.constructor?.name || "an unknown class"}`
      : `a ${typeof value}`;
  return new VerlError("VERL_BATCH_ARROW", `${where} holds ${what}, which cannot be written to bytes.`, {
    hint: "Keep strings, numbers, bigints, booleans, null, dates, typed arrays, and lists and objects of these.",
  });
}

function tag(value: unknown, where: string, depth: number, own?: TagOwn): unknown {
  if (depth > MAX_DEPTH) throw tooDeep(where);
  const inner = (item: unknown): unknown => tag(item, where, depth + 1, own);
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    return Number.isFinite(value) && !Object.is(value, -0)
      ? value
      : { $: "number", value: Object.is(value, -0) ? "-0" : String(value) };
  }
  if (typeof value === "bigint") return { $: "bigint", value: String(value) };
  if (value === undefined) return { $: "undefined" };
  const owned = own?.(value, inner);
  if (owned) return owned;
  if (value instanceof Date) return { $: "date", value: inner(value.getTime()) };
  const typed = typedName(value);
  if (typed) return { $: typed, value: Array.from(value as Iterable<unknown>, inner) };
  if (Array.isArray(value)) return Array.from(value, inner);
  if (!isPlainObject(value)) throw unstorable(value, where);
  const entries = Object.entries(value).map(([key, item]) => [key, inner(item)] as const);
  return Object.hasOwn(value, "$") ? { $: "object", value: entries } : Object.fromEntries(entries);
}

function untag(value: unknown, own?: UntagOwn): unknown {
  if (typeof value !== "object" || value === null) return value;
  const each = (item: unknown): unknown => untag(item, own);
  if (Array.isArray(value)) return value.map(each);
  const { $: type, value: inner } = value as { $?: string; value?: unknown };
  if (type === undefined) return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, each(item)]));
  const owned = own?.(type, inner, each);
  if (owned !== undefined) return owned;
  switch (type) {
    case "number":
      return Number(inner);
    case "bigint":
      return BigInt(inner as string);
    case "undefined":
      return undefined;
    case "date":
      return new Date(each(inner) as number);
    case "object":
      return Object.fromEntries((inner as [string, unknown][]).map(([key, item]) => [key, each(item)]));
    default:
      if (!Object.hasOwn(TYPED, type)) throw new TypeError(`Unknown tag ${JSON.stringify(type)}.`);
      return (TYPED[type as TypedName] as Float32ArrayConstructor).from((inner as number[]).map(each) as number[]);
  }
}

export function tooDeep(where: string): VerlError {
  return new VerlError("VERL_BATCH_ARROW", `${where} is nested deeper than ${MAX_DEPTH} levels, or contains itself.`);
}
