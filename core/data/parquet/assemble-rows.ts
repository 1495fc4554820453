import type { SchemaTree } from "hyparquet";
import type { Row } from "./parquet-type.ts";
import type { LeafColumn } from "./value-pages.ts";

/** One text for a path; names may have dots, so a dot would not tell two paths apart. */
export const pathKey = (path: readonly string[]): string => JSON.stringify(path);

/** Where a leaf column is read next. */
interface Cursor {
  readonly column: LeafColumn;
  entry: number;
  value: number;
}

/** Reads one value of a node, and moves the cursors of its leaves on. */
type Read = () => unknown;

/**
 * Rows of a row group from its leaf columns. Each value is made once; no lists of lists come in between.
 * @param leaves by {@link pathKey}.
 */
export function assembleRows(schema: SchemaTree, leaves: ReadonlyMap<string, LeafColumn>, count: number): Row[] {
  const readers = schema.children
    .filter((child) => leafPaths(child).every((path) => leaves.has(path)))
    .map((child) => ({ name: child.element.name, read: reader(child, leaves, { definition: 0, repetition: 0 }).read }));
  const rows = new Array<Row>(count);
  for (let index = 0; index < count; index += 1) {
    const row: Row = {};
    for (const { name, read } of readers) setField(row, name, read());
    rows[index] = row;
  }
  return rows;
}

/** Whether {@link assembleRows} knows every node: scalars, structs, and lists of three levels. */
export function isAssemblable(schema: SchemaTree): boolean {
  return schema.children.every(isKnown);
}

function isKnown(node: SchemaTree): boolean {
  const { element, children } = node;
  const logical = element.logical_type?.type;
  if (element.repetition_type === "REPEATED" || logical === "VARIANT" || logical === "FILE") return false;
  if (children.length === 0) return element.type !== undefined;
  if (isList(node)) return isKnown(itemOf(node));
  return element.converted_type === undefined && logical === undefined && children.every(isKnown);
}

function isList({ element, children: [repeated, ...more] }: SchemaTree): boolean {
  const marked = element.converted_type === "LIST" || element.logical_type?.type === "LIST";
  return (
    marked &&
    more.length === 0 &&
    repeated?.element.repetition_type === "REPEATED" &&
    repeated.element.converted_type === undefined &&
    repeated.children.length === 1
  );
}

const itemOf = (list: SchemaTree): SchemaTree => list.children[0]!.children[0]!;

/** A file may call a column as the way to an object's prototype is called; it is a field like any other. */
function setField(row: Row, name: string, value: unknown): void {
  if (name === "__proto__")
    Object.defineProperty(row, name, { value, enumerable: true, writable: true, configurable: true });
  else row[name] = value;
}

interface Levels {
  definition: number;
  repetition: number;
}

/** A reader, with the cursors below it; the first of them tells whether the node is there. */
function reader(
  node: SchemaTree,
  leaves: ReadonlyMap<string, LeafColumn>,
  { definition, repetition }: Levels,
): { read: Read; cursors: Cursor[] } {
  const own = definition + (node.element.repetition_type === "REQUIRED" ? 0 : 1);
  if (node.children.length === 0) {
    const cursor: Cursor = { column: leaves.get(pathKey(node.path))!, entry: 0, value: 0 };
    return { read: leafReader(cursor), cursors: [cursor] };
  }
  if (isList(node)) {
    const levels = { definition: own + 1, repetition: repetition + 1 };
    const { read, cursors } = reader(itemOf(node), leaves, levels);
    return { read: listReader(read, cursors, own, levels.repetition), cursors };
  }
  const fields = node.children.map((child) => ({
    name: child.element.name,
    ...reader(child, leaves, { definition: own, repetition }),
  }));
  const cursors = fields.flatMap((field) => field.cursors);
  const names = fields.map(({ name }) => name);
  const reads = fields.map(({ read }) => read);
  return { read: structReader(names, reads, cursors, own), cursors };
}

function leafReader(cursor: Cursor): Read {
  const { values, definitions, maxDefinition } = cursor.column;
  return () => {
    const there = definitions === undefined || definitions[cursor.entry] === maxDefinition;
    cursor.entry += 1;
    return there ? values[cursor.value++] : null;
  };
}

function structReader(names: readonly string[], reads: readonly Read[], cursors: readonly Cursor[], own: number): Read {
  const isNull = nullTest(cursors[0]!, own);
  return () => {
    if (isNull()) return skip(cursors, null);
    const struct: Row = {};
    for (let i = 0; i < names.length; i += 1) setField(struct, names[i]!, reads[i]!());
    return struct;
  };
}

function listReader(read: Read, cursors: readonly Cursor[], own: number, repetition: number): Read {
  const first = cursors[0]!;
  const { repetitions, definitions, entries } = first.column;
  const isNull = nullTest(first, own);
  return () => {
    if (isNull()) return skip(cursors, null);
    if (definitions![first.entry] === own) return skip(cursors, []);
    const list: unknown[] = [];
    do list.push(read());
    while (first.entry < entries && repetitions![first.entry] === repetition);
    return list;
  };
}

const nullTest = (cursor: Cursor, own: number): (() => boolean) => {
  const { definitions } = cursor.column;
  return () => definitions !== undefined && definitions[cursor.entry]! < own;
};

/** A node that is not there has one entry in each of its leaves. */
function skip<T>(cursors: readonly Cursor[], value: T): T {
  for (const cursor of cursors) cursor.entry += 1;
  return value;
}

/** Paths of the leaves at and below a node. */
function leafPaths(node: SchemaTree): string[] {
  return node.children.length === 0 ? [pathKey(node.path)] : node.children.flatMap(leafPaths);
}
