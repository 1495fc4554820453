import { nearest } from "../registry/nearest.ts";
import type { SchemaName } from "./schema/index.ts";
import { child, showPath, type Node, type Path } from "./tree.ts";

/** Where a path leaves the tree: the number of its keys that exist. */
export function existingDepth(root: Node, path: Path): number {
  let node: Node | undefined = root;
  for (const [depth, key] of path.entries()) {
    node = child(node, key);
    if (node === undefined) return depth;
  }
  return path.length;
}

/** Paths of the tree that an unknown path was probably meant to be: a near name in the same section, or the same name elsewhere. */
export function suggestPaths(root: Node, path: Path): string[] {
  const depth = existingDepth(root, path);
  const unknown = path[depth];
  if (unknown === undefined) return [];
  const parent = path.slice(0, depth).reduce<Node | undefined>((node, key) => node && child(node, key), root);
  const beside = parent?.kind === "map" ? nearest(unknown, parent.entries.keys()) : [];
  const exact = beside
    .map((name) => [...path.slice(0, depth), name, ...path.slice(depth + 1)])
    .filter((candidate) => existingDepth(root, candidate) === candidate.length)
    .map(showPath);
  if (exact.length > 0) return exact;
  const leaf = path.at(-1)!;
  const elsewhere = [...paths(root)].filter((candidate) => candidate.at(-1) === leaf).map(showPath);
  return elsewhere.length > 0 ? elsewhere.slice(0, 3) : beside.map((name) => showPath([...path.slice(0, depth), name]));
}

/** "Did you mean …?", or nothing. */
export const didYouMean = (names: readonly string[]): string | undefined =>
  names.length === 0 ? undefined : `Did you mean ${names.map((name) => `\`${name}\``).join(" or ")}?`;

/** Where the keys of a config are to be found. */
export const keysHint = (schema: SchemaName): string =>
  `Run \`verl config print${schema === "sft" ? " --sft" : ""}\` for the keys that there are.`;

function* paths(node: Node, prefix: Path = []): Generator<Path> {
  if (node.kind !== "map") return;
  for (const [key, { node: below }] of node.entries) {
    yield [...prefix, key];
    yield* paths(below, [...prefix, key]);
  }
}
