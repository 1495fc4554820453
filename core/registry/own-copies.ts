import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { VerlError } from "../errors/index.ts";
import { packageFolder, packageJsonOf, projectFolder } from "./manifest.ts";

/** Packages of which a process must have one copy: two do not know each other's tensors and injected classes. */
const SHARED = ["@tensorflow/tfjs", "tsyringe"] as const;

const FIELDS = ["dependencies", "optionalDependencies", "peerDependencies", "devDependencies"];

/** @throws VERL_PLUGIN_OWN_COPY where a plugin's package depends on one of `SHARED`, and would load another copy than this package. */
export function checkOwnCopies(plugin: string, url: string): void {
  if (!url.startsWith("file:")) return;
  const file = realpathSync(fileURLToPath(url));
  const root = projectFolder(dirname(file));
  const json = root === undefined ? undefined : packageJsonOf(root);
  if (root === undefined || json === undefined) return;
  const asks = (name: string): boolean => FIELDS.some((field) => name in Object(json[field]));
  for (const name of SHARED) {
    if (!asks(name)) continue;
    const [theirs, ours] = [copyAt(name, root), copyAt(name, dirname(fileURLToPath(import.meta.url)))];
    if (theirs === undefined || ours === undefined || theirs.folder === ours.folder) continue;
    throw new VerlError(
      "VERL_PLUGIN_OWN_COPY",
      `${plugin} brings its own copy of ${name}, ${theirs.version} in ${theirs.folder}; verl uses ${ours.version} in ${ours.folder}.`,
      { hint: remedy(name, plugin), location: { plugin }, details: { package: name, theirs, ours } },
    );
  }
}

const remedy = (name: (typeof SHARED)[number], plugin: string): string =>
  name === "tsyringe"
    ? `This is for the author of ${plugin} to mend: take \`inject\` and the tokens from "verl", and tsyringe out of the dependencies.`
    : `Run \`npm dedupe\`. If that does not help, ${plugin} has to name ${name} in \`peerDependencies\`, not in \`dependencies\`.`;

function copyAt(name: string, directory: string): { folder: string; version: string } | undefined {
  const folder = packageFolder(name, directory);
  if (folder === undefined) return undefined;
  const version = packageJsonOf(folder)?.["version"];
  return { folder: realpathSync(folder), version: typeof version === "string" ? version : "of no version" };
}
