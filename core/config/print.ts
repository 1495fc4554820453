import { stringify } from "yaml";
import type { LoadedConfig } from "./load.ts";
import { place } from "./problem.ts";
import { getAt, locationOf, showPath, type Path } from "./tree.ts";

/** The whole config as YAML that reads back as the same config. With `origin`, each value says where it was written. */
export function printConfig(loaded: LoadedConfig, options: { origin?: boolean } = {}): string {
  const yaml = stringify(escaped(loaded.config), { lineWidth: 0, flowCollectionPadding: false });
  if (!options.origin) return yaml;
  const lines = [...leaves(loaded.config, [])].map(([path, value]) => {
    const node = getAt(loaded.tree, path);
    const where = node === undefined ? "" : place(locationOf(node.origin, path));
    return [`${showPath(path)}: ${flow(value)}`, where || "default"] as const;
  });
  const width = Math.min(72, Math.max(...lines.map(([text]) => text.length)));
  return lines.map(([text, where]) => `${text.padEnd(width)}  # ${where}\n`).join("");
}

/** Scalars, lists and empty maps, with their paths. */
export function* leaves(value: unknown, path: Path): Generator<[Path, unknown]> {
  const entries = typeof value === "object" && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (entries.length === 0) yield [path, value];
  for (const [key, below] of entries) yield* leaves(below, [...path, key]);
}

const flow = (value: unknown): string =>
  stringify(value, { collectionStyle: "flow", lineWidth: 0, flowCollectionPadding: false }).trimEnd();

/** `${` in a final value is text, and has to stay so when it is read again. */
function escaped(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("${", "\\${");
  if (Array.isArray(value)) return value.map(escaped);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, below]) => [key, escaped(below)]));
}
