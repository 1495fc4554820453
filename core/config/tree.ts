import type { ErrorLocation } from "../errors/index.ts";

/** Who wrote a value. */
export type Origin =
  | { readonly from: "default" }
  | { readonly from: "file"; readonly file: string; readonly line: number; readonly column: number }
  | { readonly from: "override"; readonly override: string };

export const DEFAULT: Origin = { from: "default" };

export type Scalar = string | number | boolean | null;

export interface ScalarNode {
  readonly kind: "scalar";
  readonly value: Scalar;
  readonly origin: Origin;
  /** The number as it was written, where that is not how it would be printed: `1_000`, `1.0`. */
  readonly written?: string;
  /** True for text from outside the config (an environment variable), which takes the type that its place asks for. */
  readonly untyped?: boolean;
}

export interface ListNode {
  readonly kind: "list";
  readonly items: readonly Node[];
  readonly origin: Origin;
}

export interface MapNode {
  readonly kind: "map";
  readonly entries: ReadonlyMap<string, Entry>;
  readonly origin: Origin;
}

/** A config value that remembers where each part of it was written. Nodes are never changed. */
export type Node = ScalarNode | ListNode | MapNode;

export interface Entry {
  /** Where the key was written. */
  readonly key: Origin;
  readonly node: Node;
}

export type Path = readonly string[];

export const mapOf = (origin: Origin, entries: Iterable<readonly [string, Entry]> = []): MapNode => ({
  kind: "map",
  entries: new Map(entries),
  origin,
});

/** Later wins: maps merge key by key, everything else (lists too) is replaced. */
export function merge(base: Node, over: Node): Node {
  if (base.kind !== "map" || over.kind !== "map") return over;
  const entries = new Map(base.entries);
  for (const [key, entry] of over.entries) {
    const below = entries.get(key);
    entries.set(key, below === undefined ? entry : { key: entry.key, node: merge(below.node, entry.node) });
  }
  return { ...over, entries };
}

/** A plain value as a tree, all of one origin. */
export function fromValue(value: unknown, origin: Origin): Node {
  if (Array.isArray(value)) return { kind: "list", items: value.map((item) => fromValue(item, origin)), origin };
  if (typeof value === "object" && value !== null) {
    return mapOf(
      origin,
      Object.entries(value).map(([key, child]) => [key, { key: origin, node: fromValue(child, origin) }] as const),
    );
  }
  return { kind: "scalar", value: value as Scalar, origin };
}

/** The plain value of a tree. */
export function toValue(node: Node): unknown {
  switch (node.kind) {
    case "scalar":
      return node.value;
    case "list":
      return node.items.map(toValue);
    case "map":
      return Object.fromEntries([...node.entries].map(([key, { node: child }]) => [key, toValue(child)]));
  }
}

export function child(node: Node, key: string): Node | undefined {
  if (node.kind === "map") return node.entries.get(key)?.node;
  if (node.kind === "list") return isIndex(key) ? node.items[Number(key)] : undefined;
  return undefined;
}

export function getAt(root: Node, path: Path): Node | undefined {
  let node: Node | undefined = root;
  for (const key of path) node = node && child(node, key);
  return node;
}

/**
 * The tree with `node` at `path`. Maps that are missing on the way are made; a list takes an index that it has.
 * Undefined when the way is barred by a scalar or by an index past the end.
 */
export function setAt(root: Node, path: Path, node: Node, key: Origin): Node | undefined {
  const [head, ...rest] = path;
  if (head === undefined) return node;
  const inner = setAt(child(root, head) ?? mapOf(key), rest, node, key);
  if (inner === undefined) return undefined;
  if (root.kind === "map") {
    const held = root.entries.get(head);
    return { ...root, entries: new Map(root.entries).set(head, { key: held?.key ?? key, node: inner }) };
  }
  if (root.kind === "list" && isIndex(head) && Number(head) < root.items.length) {
    return { ...root, items: root.items.with(Number(head), inner) };
  }
  return undefined;
}

/** The tree without what is at `path`; the same tree when there is nothing. */
export function removeAt(root: Node, path: Path): Node {
  const [head, ...rest] = path;
  if (head === undefined) return root;
  const held = child(root, head);
  if (held === undefined) return root;
  if (root.kind === "list") {
    const index = Number(head);
    return {
      ...root,
      items: rest.length > 0 ? root.items.with(index, removeAt(held, rest)) : root.items.toSpliced(index, 1),
    };
  }
  if (root.kind !== "map") return root;
  const entries = new Map(root.entries);
  if (rest.length === 0) entries.delete(head);
  else entries.set(head, { key: root.entries.get(head)!.key, node: removeAt(held, rest) });
  return { ...root, entries };
}

/** `a.b.0` and `a.b[0]` are the same path. */
export const parsePath = (text: string): string[] => text.replace(/\[(\d+)\]/g, ".$1").split(".");

export const showPath = (path: Path): string => path.join(".");

/** An origin as an error's location. */
export function locationOf(origin: Origin, path: Path): ErrorLocation {
  const where = { path: showPath(path) };
  switch (origin.from) {
    case "default":
      return where;
    case "file":
      return { file: origin.file, line: origin.line, column: origin.column, ...where };
    case "override":
      return { override: origin.override, ...where };
  }
}

const isIndex = (key: string): boolean => /^\d{1,9}$/.test(key);
