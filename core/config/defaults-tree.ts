import { DEFAULT, fromValue, mapOf, type Entry, type MapNode } from "./tree.ts";
import type { FieldSchema } from "./schema/field.ts";

/** The tree of all defaults of a section. */
export function defaultsTree(schema: FieldSchema): MapNode {
  const entries = Object.entries(schema.properties ?? {}).map(([key, field]): [string, Entry] => {
    const node = field.properties === undefined ? fromValue(field.default, DEFAULT) : defaultsTree(field);
    return [key, { key: DEFAULT, node }];
  });
  return mapOf(DEFAULT, entries);
}
