import type { JSONSchema7TypeName as TypeName } from "json-schema";
import { isObject } from "./call-object.ts";

/** Values that a schema allows, as far as text can be turned into them. */
export interface Allowed {
  /** Undefined: any. */
  readonly types: ReadonlySet<TypeName> | undefined;
  /** The only strings, where a schema lists them. Undefined: any that the types allow. */
  readonly texts: ReadonlySet<string> | undefined;
}

export const ANYTHING: Allowed = { types: undefined, texts: undefined };
export const NOTHING: Allowed = { types: new Set(), texts: undefined };

const TYPES: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean", "object", "array", "null"]);
const isTypeName = (type: unknown): type is TypeName => TYPES.has(type);

/** What a schema allows by its types and the values that it lists, whatever other schemas it names. */
export function allowedByItself(schema: Readonly<Record<string, unknown>>): Allowed {
  const { type, enum: options, const: only, properties } = schema;
  const values = Array.isArray(options) && options.length > 0 ? options : only === undefined ? undefined : [only];
  const named = (Array.isArray(type) ? type : [type]).filter(isTypeName);
  const types = named.length > 0 ? named : values === undefined ? undefined : values.map(typeOf);
  if (types === undefined) return isObject(properties) ? { types: new Set(["object"]), texts: undefined } : ANYTHING;
  const texts = values?.filter((value) => typeof value === "string");
  return { types: new Set(types), texts: texts && new Set(texts) };
}

/** What one of several schemas allows. */
export function either(all: readonly Allowed[]): Allowed {
  const types = new Set<TypeName>();
  const texts = new Set<string>();
  let listsTexts = true;
  for (const one of all) {
    if (one.types === undefined) return ANYTHING;
    for (const type of one.types) types.add(type);
    if (!one.types.has("string")) continue;
    if (one.texts === undefined) listsTexts = false;
    else for (const text of one.texts) texts.add(text);
  }
  return { types, texts: listsTexts ? texts : undefined };
}

/** What all of several schemas allow, of which some may say nothing. */
export const allOf = (all: readonly (Allowed | undefined)[]): Allowed =>
  all.reduce<Allowed>((left, one) => (one === undefined ? left : both(left, one)), ANYTHING);

/** What two schemas both allow; what either does, where they contradict each other. */
function both(one: Allowed, other: Allowed): Allowed {
  if (one.types === undefined) return other;
  if (other.types === undefined) return one;
  const types = [
    ...[...one.types].filter((type) => hasType(type, other.types!)),
    ...[...other.types].filter((type) => hasType(type, one.types!)),
  ];
  if (types.length === 0) return either([one, other]);
  const [texts, others] = [one.texts ?? other.texts, other.texts];
  return {
    types: new Set(types),
    texts: texts && others ? new Set([...texts].filter((text) => others.has(text))) : texts,
  };
}

/** The same, and `null`. */
export const orNull = ({ types, texts }: Allowed): Allowed => ({ types: types && new Set([...types, "null"]), texts });

export function typeOf(value: unknown): TypeName {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint" || Number.isInteger(value)) return "integer";
  return typeof value as "string" | "number" | "boolean" | "object";
}

/** Whether a value is of an allowed type, be it one that a schema lists or not. */
export const isTyped = (value: unknown, { types }: Allowed): boolean =>
  types === undefined || hasType(typeOf(value), types);

/** Whether a value may stay as it is. */
export const fits = (value: unknown, allowed: Allowed): boolean =>
  isTyped(value, allowed) && (typeof value !== "string" || (allowed.texts?.has(value) ?? true));

/** Whether values of a type are of one of several. */
const hasType = (type: TypeName, types: ReadonlySet<TypeName>): boolean =>
  types.has(type) || (type === "integer" && types.has("number"));
