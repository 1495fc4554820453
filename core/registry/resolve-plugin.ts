import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, extname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { VerlError } from "../errors/index.ts";

/** What `import()` takes for a plugin. */
export interface ResolvedPlugin {
  /** The package's name, or the path as it was written. */
  readonly name: string;
  /** URL of a file, or a bare specifier that this package itself exports. */
  readonly url: string;
}

const SOURCE_FILE = /\.[cm]?[jt]sx?$/;
const PREFIX = "verl-plugin";

/**
 * The package that a name in `plugins:` stands for: `dapo` → `verl-plugin-dapo`, `@acme` → `@acme/verl-plugin`, `@acme/dapo` →
 * `@acme/verl-plugin-dapo`. `module:x` is `x` to the letter, as are names that hold the prefix already and paths inside packages.
 */
export function packageName(specifier: string): string {
  if (specifier.startsWith("module:")) return specifier.slice("module:".length);
  const parts = specifier.split("/");
  if (!specifier.startsWith("@")) {
    return parts.length > 1 || specifier.startsWith(`${PREFIX}-`) ? specifier : `${PREFIX}-${specifier}`;
  }
  const [scope, name, ...rest] = parts;
  if (name === undefined) return `${scope}/${PREFIX}`;
  return rest.length > 0 || name === PREFIX || name.startsWith(`${PREFIX}-`) ? specifier : `${scope}/${PREFIX}-${name}`;
}

/** True for what names a file rather than a package. */
export const isPath = (specifier: string): boolean =>
  /^\.{1,2}([\\/]|$)/.test(specifier) ||
  isAbsolute(specifier) ||
  specifier.startsWith("file:") ||
  (SOURCE_FILE.test(specifier) && !specifier.startsWith("@") && !specifier.startsWith("module:"));

/**
 * Finds a plugin: a file relative to `from`, or a package as seen from there, then from the working directory.
 * @param from The directory of the config file, or the working directory.
 * @param fromConfigFile Which of the two `from` is; the hint tells it.
 * @throws VERL_PLUGIN_NOT_FOUND
 */
export function resolvePlugin(specifier: string, from: string, fromConfigFile = true): ResolvedPlugin {
  if (isPath(specifier)) return resolveFile(specifier, from, fromConfigFile);
  const name = packageName(specifier);
  if (name === "verl" || name.startsWith("verl/")) return { name, url: name };
  for (const directory of new Set([from, process.cwd()])) {
    const file = resolvePackage(name, directory);
    if (file !== undefined) return { name, url: pathToFileURL(file).href };
  }
  // A package that goes by the bare name may have been meant.
  const bare = name !== specifier && resolvePackage(specifier, from) !== undefined;
  throw new VerlError(
    "VERL_PLUGIN_NOT_FOUND",
    `The plugin "${specifier}" is not installed: there is no package ${name}.`,
    {
      hint: bare
        ? `There is a package "${specifier}"; if it is the plugin, write "module:${specifier}".`
        : `Run \`npm install ${name}\`, or write the path of a file: "./${specifier}.ts".`,
      location: { path: "plugins" },
      details: { specifier, package: name },
    },
  );
}

function resolveFile(specifier: string, from: string, fromConfigFile: boolean): ResolvedPlugin {
  const path = specifier.startsWith("file:") ? fileURLToPath(specifier) : resolve(from, specifier);
  if (existsSync(path) && extname(path) !== "") return { name: specifier, url: pathToFileURL(path).href };
  const meant = [".ts", ".js", "/index.ts", "/index.js"].find((ending) => existsSync(path + ending));
  const start = fromConfigFile
    ? "Paths in `plugins:` of a config file start from the folder of the config file."
    : "Paths on the command line and in code start from the working directory.";
  throw new VerlError("VERL_PLUGIN_NOT_FOUND", `The plugin file "${specifier}" does not exist: there is no ${path}.`, {
    hint: meant ? `Did you mean "${specifier}${meant}"?` : start,
    location: { path: "plugins" },
    details: { specifier, path },
  });
}

function resolvePackage(name: string, directory: string): string | undefined {
  const require = createRequire(join(directory, "noop.js"));
  try {
    return require.resolve(name);
  } catch {
    return importOnly(name, directory);
  }
}

/** The entry of a package whose `exports` has no condition that `require` sees, only `import`. */
function importOnly(name: string, directory: string): string | undefined {
  for (let folder = directory; ; folder = dirname(folder)) {
    const root = join(folder, "node_modules", name);
    const manifest = join(root, "package.json");
    if (existsSync(manifest)) {
      const { exports } = JSON.parse(readFileSync(manifest, "utf8")) as { exports?: unknown };
      const target = importTarget(exports);
      return target === undefined ? undefined : join(root, target);
    }
    if (folder === dirname(folder)) return undefined;
  }
}

function importTarget(exports: unknown): string | undefined {
  if (typeof exports === "string") return exports;
  if (typeof exports !== "object" || exports === null) return undefined;
  const table = exports as Readonly<Record<string, unknown>>;
  for (const condition of [".", "node", "import", "default"]) {
    if (condition in table) return importTarget(table[condition]);
  }
  return undefined;
}
