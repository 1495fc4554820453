import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { KIND_NAMES, type Kind } from "./kinds.ts";

/** Keys by kind. */
export type ProvidedKeys = Readonly<Partial<Record<Kind, readonly string[]>>>;

/** What a plugin's package.json says of it, in the field `verl`; nothing is imported to read it. */
export interface PluginManifest {
  readonly name: string;
  readonly version: string;
  /** The package's folder. */
  readonly folder: string;
  /** Range of verl's versions. */
  readonly api?: string;
  /** Source file that `verl plugin` loads where it exists, relative to the folder; elsewhere the package's own entry. */
  readonly source?: string;
  /** Config file that `extends: <package>` stands for, relative to the folder. */
  readonly preset?: string;
  readonly provides: ProvidedKeys;
  /** For `verl plugin test`, by `kind/key`: options to test with, and properties that do not hold by design, with the reason. */
  readonly testing: Readonly<Record<string, ManifestTesting>>;
}

/** How `verl plugin test` treats one entry. */
export interface ManifestTesting {
  readonly options?: Readonly<Record<string, unknown>>;
  readonly except?: Readonly<Record<string, string>>;
}

type Table = Readonly<Record<string, unknown>>;

const isTable = (value: unknown): value is Table =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const tableOr = (value: unknown): Table => (isTable(value) ? value : {});
const textOr = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** The package.json of a folder; undefined where there is none, or none that can be read. */
export function packageJsonOf(folder: string): Table | undefined {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return undefined;
  try {
    const read: unknown = JSON.parse(readFileSync(file, "utf8"));
    return isTable(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

/** The manifest of the package in a folder; undefined for a package that neither has the field nor the keyword `verl-plugin`. */
export function pluginManifest(folder: string): PluginManifest | undefined {
  const json = packageJsonOf(folder);
  if (json === undefined) return undefined;
  const { name, version, keywords, verl } = json;
  const marked = Array.isArray(keywords) && keywords.includes("verl-plugin");
  if (typeof name !== "string" || !(marked || isTable(verl))) return undefined;
  const own = tableOr(verl);
  return {
    name,
    version: textOr(version) ?? "0.0.0",
    folder,
    api: textOr(own["api"]),
    source: textOr(own["source"]),
    preset: textOr(own["preset"]),
    provides: providedKeys(own["provides"]),
    testing: tableOr(own["testing"]) as PluginManifest["testing"],
  };
}

/** The keys of a table of kinds; kinds that do not exist and what is no list of keys are left out. */
export function providedKeys(value: unknown): ProvidedKeys {
  const table = tableOr(value);
  return Object.fromEntries(
    KIND_NAMES.filter((kind) => Array.isArray(table[kind])).map((kind) => [
      kind,
      (table[kind] as unknown[]).filter((key) => typeof key === "string"),
    ]),
  );
}

/** The folder of a package as seen from a directory: the first `node_modules` upwards that has it. */
export function packageFolder(name: string, directory: string): string | undefined {
  for (let folder = directory; ; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(join(found, "package.json"))) return found;
    if (folder === dirname(folder)) return undefined;
  }
}

/** The nearest folder upwards with a package.json. */
export function projectFolder(directory: string): string | undefined {
  for (let folder = directory; ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json"))) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

const DEPENDENCIES = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"] as const;

/** Plugins that a project's package.json depends on and that are installed, sorted by name. Nothing is imported. */
export function installedPlugins(directory: string): PluginManifest[] {
  const project = projectFolder(directory);
  const json = project === undefined ? undefined : packageJsonOf(project);
  if (project === undefined || json === undefined) return [];
  const names = new Set(DEPENDENCIES.flatMap((field) => Object.keys(tableOr(json[field]))));
  return [...names].sort().flatMap((name) => {
    const folder = packageFolder(name, project);
    return (folder === undefined ? undefined : pluginManifest(folder)) ?? [];
  });
}
