import { readFileSync } from "node:fs";
import { assetPath } from "./asset-path.ts";
import type { Kind } from "./kinds.ts";
import { installedPlugins, providedKeys, type ProvidedKeys } from "./manifest.ts";

/** A published package of the curated list, `ecosystem.json`. */
export interface KnownPackage {
  readonly package: string;
  /** One sentence. */
  readonly description: string;
  readonly provides: ProvidedKeys;
}

let known: readonly KnownPackage[] | undefined;

/** The curated list of published packages. It is read when a key is unknown, and never before. */
export function knownPackages(): readonly KnownPackage[] {
  return (known ??= parseKnownPackages(readFileSync(assetPath("ecosystem.json"), "utf8")));
}

/** @param text A JSON list of `{ package, description, provides: { kind: [keys] } }`. */
export function parseKnownPackages(text: string): KnownPackage[] {
  const list = JSON.parse(text) as readonly (Omit<KnownPackage, "provides"> & { provides: unknown })[];
  return list.map((entry) => ({ ...entry, provides: providedKeys(entry.provides) }));
}

/**
 * What to do to get a key that nothing has registered: enable a package that the project has, or install one. Undefined when no
 * package is known to bring it.
 */
export function howToGet(kind: Kind, key: string, directory: string, packages = knownPackages()): string | undefined {
  const has = ({ provides }: { provides: ProvidedKeys }): boolean => provides[kind]?.includes(key) === true;
  const installed = installedPlugins(directory).find(has);
  if (installed !== undefined)
    return `The package ${installed.name} is installed and provides it: add \`${installed.name}\` to \`plugins:\`.`;
  const published = packages.find(has)?.package;
  if (published === undefined) return undefined;
  return `The package ${published} provides it: run \`npm install ${published}\` and add \`${published}\` to \`plugins:\`.`;
}
