import type { Path } from "./tree.ts";
import type { FieldSchema } from "./schema/field.ts";

/** The schema at a path; undefined for keys that are unknown, or that only a plugin knows. */
export function schemaAt(root: FieldSchema, path: Path): FieldSchema | undefined {
  let schema: FieldSchema | undefined = root;
  for (const key of path) schema = property(schema, key) ?? (/^\d+$/.test(key) ? schema?.items : undefined);
  return schema;
}

/** True when the path lies in a section whose further keys only a plugin knows. */
export function isOpenAt(root: FieldSchema, path: Path): boolean {
  let schema: FieldSchema | undefined = root;
  for (const key of path) {
    const next = property(schema, key);
    if (next === undefined) return schema?.additionalProperties === true;
    schema = next;
  }
  return false;
}

const property = (schema: FieldSchema | undefined, key: string): FieldSchema | undefined =>
  schema?.properties !== undefined && Object.hasOwn(schema.properties, key) ? schema.properties[key] : undefined;

export const isSection = (schema: FieldSchema): boolean => schema.type === "object";

/** The value that stands for "nothing": null, an empty list or an empty map. Undefined where a value has to be. */
export function emptyOf(schema: FieldSchema): null | [] | Record<string, never> | undefined {
  if (typesOf(schema).includes("null")) return null;
  if (schema.type === "array" && schema.minItems === undefined) return [];
  if (isSection(schema) && schema.properties === undefined) return {};
  return undefined;
}

export const typesOf = (schema: FieldSchema): readonly string[] =>
  Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
