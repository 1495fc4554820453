import type { JSONSchema7, JSONSchema7TypeName } from "json-schema";

declare const VALUE: unique symbol;

/** The schema of one config value (JSON Schema, draft-07), and in the type what the value is once defaults and interpolations are in. */
export interface Field<T = unknown> {
  readonly schema: FieldSchema;
  readonly [VALUE]?: T;
}

/** What our schemas are made of. `x-` words are ours; {@link jsonSchemaOf} turns them into plain draft-07. */
export interface FieldSchema extends Omit<JSONSchema7, "properties" | "items" | "additionalProperties"> {
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly items?: FieldSchema;
  readonly additionalProperties?: boolean;
  /** A single item stands for a list of one, null for an empty list. */
  readonly "x-single"?: boolean;
  /** Other accepted spellings of enum values. */
  readonly "x-aliases"?: Readonly<Record<string, string>>;
  /** Infinity has a meaning here, and is allowed. */
  readonly "x-infinite"?: boolean;
  /** Where the default or the meaning is otherwise than in verl, and why. */
  readonly "x-departure"?: string;
}

/** TypeScript type of a field's value. */
export type ValueOf<F> = F extends Field<infer T> ? T : never;

/** A default that is read from elsewhere in the config. */
export type Interpolation = `\${${string}}`;

export interface Bounds {
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
}

interface Notes {
  readonly "x-departure"?: string;
}

type OrNull<D, T> = D extends null ? T | null : T;

const typed = (name: "number" | "integer" | "string" | "boolean", fallback: unknown): FieldSchema["type"] =>
  fallback === null ? [name, "null"] : name;

/** A finite floating-point number; a `null` default makes null an allowed value, `x-infinite` allows inf. */
export function number<const D extends number | null | Interpolation>(
  description: string,
  fallback: D,
  rules: Bounds & Notes & { readonly "x-infinite"?: true } = {},
): Field<OrNull<D, number>> {
  return { schema: { type: typed("number", fallback), description, default: fallback, ...rules } };
}

/** A whole number; a `null` default makes null an allowed value. */
export function integer<const D extends number | null | Interpolation>(
  description: string,
  fallback: D,
  rules: Bounds & Notes = {},
): Field<OrNull<D, number>> {
  return { schema: { type: typed("integer", fallback), description, default: fallback, ...rules } };
}

/** A string; a `null` default makes null an allowed value. */
export function text<const D extends string | null>(
  description: string,
  fallback: D,
  notes: Notes = {},
): Field<OrNull<D, string>> {
  return { schema: { type: typed("string", fallback), description, default: fallback, ...notes } };
}

/** A string that may be written as a number; a `null` default. */
export function numberOrText(description: string, notes: Notes = {}): Field<number | string | null> {
  return { schema: { type: ["number", "string", "null"], description, default: null, ...notes } };
}

/** A boolean; a `null` default makes null an allowed value. */
export function flag<const D extends boolean | null | Interpolation>(
  description: string,
  fallback: D,
  notes: Notes = {},
): Field<OrNull<D, boolean>> {
  return { schema: { type: typed("boolean", fallback), description, default: fallback, ...notes } };
}

/** One of a closed set of strings; a `null` default makes null an allowed value. */
export function choice<const V extends string, const D extends NoInfer<V> | Interpolation | null>(
  description: string,
  fallback: D,
  values: readonly V[],
  notes: Notes & { readonly "x-aliases"?: Readonly<Record<string, NoInfer<V>>> } = {},
): Field<OrNull<D, V>> {
  const allowed = fallback === null ? [...values, null] : [...values];
  return { schema: { type: typed("string", fallback), enum: allowed, description, default: fallback, ...notes } };
}

/** The same field, with null allowed; for fields whose default is something else. */
export function orNull<T>(field: Field<T>): Field<T | null> {
  const { type, enum: values, ...rest } = field.schema;
  const nullable = <V>(of: readonly V[]): (V | null)[] => [...new Set([...of, null])];
  const types = new Set([...(Array.isArray(type) ? type : [type]), "null"]) as Set<JSONSchema7TypeName>;
  return {
    schema: { ...rest, type: [...types], ...(values === undefined ? {} : { enum: nullable(values) }) },
  };
}

/** A list of strings that may be written as one string. */
export function texts(
  description: string,
  fallback: readonly string[] | Interpolation,
  notes: Notes = {},
): Field<readonly string[]> {
  return {
    schema: {
      type: "array",
      items: { type: "string" },
      "x-single": true,
      description,
      default: typeof fallback === "string" ? fallback : [...fallback],
      ...notes,
    },
  };
}

/** A list of numbers, empty by default, that may be written as one number. */
export function numbers(description: string, rules: Bounds & Notes = {}): Field<readonly number[]> {
  const { "x-departure": departure, ...bounds } = rules;
  return {
    schema: {
      type: "array",
      items: { type: "number", ...bounds },
      "x-single": true,
      description,
      default: [],
      ...(departure !== undefined && { "x-departure": departure }),
    },
  };
}

/** A fixed number of numbers. */
export function pair(
  description: string,
  fallback: readonly [number, number],
  bounds: Bounds = {},
): Field<readonly [number, number]> {
  const items: FieldSchema = { type: "number", ...bounds };
  return { schema: { type: "array", items, minItems: 2, maxItems: 2, description, default: [...fallback] } };
}

/** Keys that the chosen plugin knows and its own schema checks, or that are handed on as they are. */
export function freeMap(description: string): Field<Readonly<Record<string, unknown>>> {
  return { schema: { type: "object", additionalProperties: true, description, default: {} } };
}

type SectionValue<P extends Readonly<Record<string, Field>>> = { readonly [K in keyof P]: ValueOf<P[K]> };

/** A map with exactly these keys. */
export function section<const P extends Readonly<Record<string, Field>>>(
  description: string,
  fields: P,
): Field<SectionValue<P>> {
  return { schema: sectionSchema(description, fields, false) };
}

/** A map with these keys, and others that the chosen plugin's own schema checks. */
export function openSection<const P extends Readonly<Record<string, Field>>>(
  description: string,
  fields: P,
): Field<SectionValue<P> & Readonly<Record<string, unknown>>> {
  return { schema: sectionSchema(description, fields, true) };
}

function sectionSchema(
  description: string,
  fields: Readonly<Record<string, Field>>,
  additionalProperties: boolean,
): FieldSchema {
  const properties = Object.fromEntries(Object.entries(fields).map(([key, { schema }]) => [key, schema]));
  return { type: "object", additionalProperties, description, properties };
}
