import { basename, resolve } from "node:path";
import { isKey, KEY_RULE } from "../../core/registry/key.ts";
import { UsageError } from "./usage-error.ts";

const PREFIX = "verl-plugin";
const PACKAGE = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;
const MAX_LENGTH = 214;

/** Keeps letters, digits and `joint`, which stands for everything else and at neither end. */
const slug = (text: string, joint: string): string =>
  text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "")
    .join(joint);

/** The package that a directory suggests: `my loss` → `verl-plugin-my-loss`. */
export function defaultPackage(directory: string, cwd: string): string {
  const bare = slug(basename(resolve(cwd, directory)), "-").replace(new RegExp(`^${PREFIX}-?`), "");
  return bare === "" ? PREFIX : `${PREFIX}-${bare}`;
}

/** The key that a package's name suggests: `@acme/verl-plugin-my-loss` → `my_loss`; the scope where there is nothing else. */
export function defaultKey(packageName: string): string {
  const [name = "", scope = ""] = packageName.split("/").reverse();
  return slug(name.replace(new RegExp(`^${PREFIX}-?`), ""), "_") || slug(scope, "_") || "mine";
}

/** What is wrong with a package name; undefined when nothing is. */
export function packageFault(name: string): string | undefined {
  if (name.length > MAX_LENGTH) return `A package name has at most ${MAX_LENGTH} characters.`;
  if (PACKAGE.test(name)) return undefined;
  const scope = /^@([^/]+)\//.exec(name)?.[1];
  const rest = slug(name.replace(/^@[^/]+\//, ""), "-") || PREFIX;
  const valid = scope === undefined ? rest : `@${slug(scope, "-")}/${rest}`;
  return `"${name}" is no name for a package; "${valid}" would be one.`;
}

/** What is wrong with a registry key; undefined when nothing is. */
export function keyFault(key: unknown): string | undefined {
  return isKey(key) ? undefined : `"${String(key)}" is no registry key. ${KEY_RULE}`;
}

/** @throws UsageError for a fault that there is. */
export function refuse(fault: string | undefined): void {
  if (fault !== undefined) throw new UsageError(fault);
}

/** How a config names the package under `plugins:`. */
export const specifierOf = (packageName: string): string =>
  new RegExp(`^(?:@[^/]+/)?${PREFIX}(?:-|$)`).test(packageName) ? packageName : `module:${packageName}`;
