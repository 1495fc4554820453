import { VerlError } from "../../errors/verl-error.ts";

/** Tag of a number that JSON has no spelling for. */
const NUMBER_TAG = "$number";

/**
 * JSON text of a state, or an error that names the value which JSON would change in silence (`Float32Array`, `Map`, a class instance).
 * NaN, the infinities and −0 are kept.
 */
export function stateToJson(value: unknown, what: string): string {
  return JSON.stringify(pack(value, what, new Set()), null, 1) ?? "null";
}

/** The state that `stateToJson` wrote. */
export function stateFromJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown) => {
    if (typeof value === "object" && value !== null && NUMBER_TAG in value) return Number(value[NUMBER_TAG]);
    return value;
  });
}

function pack(value: unknown, where: string, open: Set<object>): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (Object.is(value, -0)) return { [NUMBER_TAG]: "-0" };
    return Number.isFinite(value) ? value : { [NUMBER_TAG]: String(value) };
  }
  if (value === undefined) return undefined;
  if (typeof value !== "object") throw refuse(where, `is a ${typeof value}`);
  if (open.has(value)) throw refuse(where, "contains itself");
  open.add(value);
  const packed = Array.isArray(value) ? packArray(value, where, open) : packObject(value, where, open);
  open.delete(value);
  return packed;
}

function packArray(items: readonly unknown[], where: string, open: Set<object>): unknown[] {
  return items.map((item, index) => {
    if (item === undefined) throw refuse(`${where}[${index}]`, "is undefined");
    return pack(item, `${where}[${index}]`, open);
  });
}

function packObject(value: object, where: string, open: Set<object>): Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw refuse(where, `is a ${value.constructor.name}`);
  if (NUMBER_TAG in value) throw refuse(where, `has a key "${NUMBER_TAG}", which is reserved`);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, pack(item, `${where}.${key}`, open)]));
}

function refuse(where: string, what: string): VerlError {
  return new VerlError("VERL_CHECKPOINT_STATE", `The state at ${where} ${what}, which a checkpoint cannot keep.`, {
    hint: "States are plain objects, arrays, strings, numbers, booleans and null. Turn typed arrays into lists with Array.from().",
    location: { path: where },
  });
}
