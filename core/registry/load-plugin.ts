import { dirname } from "node:path";
import { isVerlError, VerlError, type ErrorLocation } from "../errors/index.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { checkEntry, checkSchema } from "./check-entry.ts";
import { isPlugin, type Plugin } from "./define-plugin.ts";
import { importSource } from "./import-source.ts";
import { KIND_NAMES, type Kind } from "./kinds.ts";
import { nearest, quotedAlternatives } from "./nearest.ts";
import { checkOwnCopies } from "./own-copies.ts";
import { registries } from "./registries.ts";
import type { Registry } from "./registry.ts";
import { isPath, resolvePlugin } from "./resolve-plugin.ts";
import { store, type LoadedPlugin } from "./store.ts";
import { compareToRange } from "./version-range.ts";
import { VERSION } from "./version.ts";

/** The plugin of the built-ins, which is loaded as any other. */
export const BUILT_IN_PLUGIN = "verl/plugins";

export interface LoadPluginOptions {
  /** The config file that names the plugin; relative paths start from its folder. Default: the working directory. */
  configFile?: string;
  /** Where in the config it is named. */
  location?: ErrorLocation;
}

/**
 * Loads one plugin: a package (`verl-plugin-dapo` or `dapo`, `@acme/dapo`, `@acme`), or the path of a `.ts` or `.js` file. Loading it
 * again does nothing. Checks run in one order, with one code each: found, own copies of what must be one, imports, is a plugin, API
 * version, definition, entries, keys, conflicts, schemas. A plugin that fails a check registers nothing.
 */
export async function loadPlugin(
  specifier: string,
  { configFile, location }: LoadPluginOptions = {},
): Promise<LoadedPlugin> {
  try {
    const from = configFile === undefined ? process.cwd() : dirname(configFile);
    return await load(specifier, from, configFile !== undefined && location?.override === undefined);
  } catch (error) {
    if (!isVerlError(error) || location === undefined) throw error;
    const { code, message, hint, cause, details } = error;
    throw new VerlError(code, message, { hint, cause, details, location: { ...error.location, ...location } });
  }
}

async function load(specifier: string, from: string, fromConfigFile: boolean): Promise<LoadedPlugin> {
  const { name, url } = resolvePlugin(specifier, from, fromConfigFile);
  checkOwnCopies(name, url);
  const before = registered();
  const exported = unwrapDefault(await importPlugin(name, url));
  if (isPlugin(exported)) return registerPlugin(exported, url);

  const { plugins } = store();
  const known = plugins.get(url);
  if (known !== undefined) return known;
  const provides = [...registered()].filter((id) => !before.has(id)).map(parseId);
  if (provides.length > 0) {
    const loaded = { name, url, provides };
    plugins.set(url, loaded);
    return loaded;
  }
  throw new VerlError(
    "VERL_PLUGIN_EXPORT",
    `"${specifier}" is not a plugin: its default export is ${kindOf(exported)}.`,
    {
      hint: "A plugin has `export default definePlugin({ … })`, or registers classes or entries when it is imported.",
      location: { plugin: name },
    },
  );
}

/** Loads the built-ins, then the `plugins:` of a config in their order. */
export async function loadPlugins(
  specifiers: readonly string[],
  options: { configFile?: string; locate?: (index: number) => ErrorLocation | undefined } = {},
): Promise<LoadedPlugin[]> {
  const loaded = [await loadPlugin(BUILT_IN_PLUGIN)];
  for (const [index, specifier] of specifiers.entries()) {
    const location = options.locate?.(index);
    loaded.push(await loadPlugin(specifier, { configFile: options.configFile, location }));
  }
  return loaded;
}

/** Registers a plugin that is at hand, with all checks of `loadPlugin`. @param url the module that it comes from, if it does. */
export function registerPlugin(plugin: Plugin, url?: string): LoadedPlugin {
  checkDefinition(plugin);
  const { plugins } = store();
  const source = `${plugin.name}@${plugin.version}`;
  const known = plugins.get(source);
  if (known !== undefined) return known;
  checkProvided(plugin, source);
  for (const { kind, key, entry } of plugin.provides) {
    if (!registries[kind].holds(key, entry)) (registries[kind] as Registry).put(key, entry, source);
  }
  const loaded = {
    name: plugin.name,
    version: plugin.version,
    ...(url !== undefined && { url }),
    provides: plugin.provides.map(({ kind, key }) => ({ kind, key })),
  };
  plugins.set(source, loaded);
  return loaded;
}

/** Plugins of this process, in the order in which they were loaded. */
export const loadedPlugins = (): LoadedPlugin[] => [...store().plugins.values()];

async function importPlugin(name: string, url: string): Promise<Readonly<Record<string, unknown>>> {
  const shared = store();
  const outer = shared.source;
  shared.source = name;
  try {
    return await importSource(url);
  } catch (cause) {
    if (isVerlError(cause)) throw cause;
    const reason = reasonOf(cause);
    throw new VerlError("VERL_PLUGIN_IMPORT", `The plugin "${name}" could not be imported: ${reason}`, {
      hint: importHint(name, cause),
      location: { plugin: name },
      cause,
    });
  } finally {
    shared.source = outer;
  }
}

function importHint(name: string, cause: unknown): string {
  const { code = "", message = "" } = cause as { code?: string; message?: string };
  const [, wanted] = /MODULE_NOT_FOUND$/.test(code) ? (/'((?:@[\w.-]+\/)?\w[\w.-]*)'/.exec(message) ?? []) : [];
  if (wanted !== undefined) return `Run \`npm install ${wanted}\` in the folder of ${name}.`;
  return isPath(name)
    ? "Mend the file; it must load by itself."
    : `Try \`node -e 'import("${name}")'\` in the project's folder, or ask the author of ${name}.`;
}

/** A transpiled CommonJS module has its default export one level down. */
function unwrapDefault(module: Readonly<Record<string, unknown>>): unknown {
  const outer = module["default"];
  return !isPlugin(outer) && typeof outer === "object" && outer !== null && "default" in outer ? outer.default : outer;
}

const FIELDS = ["name", "version", "verl", "provides"] as const;

function checkDefinition(plugin: Plugin): void {
  const fields: Readonly<Record<string, unknown>> = { ...plugin };
  const name = typeof fields["name"] === "string" ? fields["name"] : "a plugin";
  const fail = (what: string, meant: readonly string[] = []): never => {
    const question = meant.length > 0 ? `Did you mean ${quotedAlternatives(meant)}? ` : "";
    throw new VerlError("VERL_PLUGIN_META", `The definition of ${name} ${what}.`, {
      hint: `${question}\`definePlugin\` takes \`name\`, \`version\`, \`verl\` (a range of versions) and \`provides\` (what \`provide\` returns).`,
      location: { plugin: name },
    });
  };
  const range = plugin.verl;
  const standing = typeof range === "string" ? compareToRange(VERSION, range) : undefined;
  if (standing === "older" || standing === "newer") {
    throw new VerlError("VERL_PLUGIN_API_MISMATCH", `${name} is made for verl ${range}, and this is verl ${VERSION}.`, {
      hint:
        standing === "older"
          ? `Upgrade verl: \`npm install verl@"${range}"\`.`
          : `Upgrade the plugin: \`npm install ${name}@latest\`; if that does not help, its author has to.`,
      location: { plugin: name },
      details: { version: VERSION, range },
    });
  }
  if (standing === undefined)
    fail(`has \`verl: ${JSON.stringify(range)}\`, which is not a range of versions such as "^0.1"`);
  for (const field of ["name", "version"])
    if (typeof fields[field] !== "string" || fields[field] === "") fail(`has no \`${field}\``);
  if (!Array.isArray(fields["provides"])) fail("has no array `provides`");
  for (const field of Object.keys(fields)) {
    if ((FIELDS as readonly string[]).includes(field)) continue;
    fail(`has \`${field}\`, which means nothing`, nearest(field, FIELDS));
  }
  for (const [index, item] of plugin.provides.entries()) {
    if (typeof item !== "object" || item === null || typeof item.key !== "string")
      fail(`has in \`provides\`, at ${index}, what \`provide\` did not make`);
    if (KIND_NAMES.includes(item.kind)) continue;
    const meant = nearest(String(item.kind), KIND_NAMES);
    fail(`provides "${item.key}" of the kind "${item.kind}", which does not exist`, meant);
  }
}

/** Every check of every entry comes before the first is registered, so that a bad plugin leaves no trace. */
function checkProvided({ provides, name }: Plugin, source: string): void {
  for (const { kind, key, entry } of provides) checkEntry(kind, key, entry, source);
  for (const { kind, key, entry } of provides) registries[kind].checkKey(key, entry, source);
  const taken = new Set<string>();
  for (const { kind, key, entry, override } of provides) {
    for (const spelling of [key, ...(entry.aliases ?? [])].map((own) => `${kind}/${own}`)) {
      if (taken.has(spelling)) {
        throw new VerlError("VERL_REGISTRY_KEY_TAKEN", `${source} provides "${spelling}" twice.`, {
          hint: `This is for the author of ${name} to mend.`,
          location: { plugin: source },
        });
      }
      taken.add(spelling);
    }
    if (!registries[kind].holds(key, entry)) registries[kind].checkFree(key, entry, { source, override });
  }
  for (const { kind, key, entry } of provides) checkSchema(kind, key, entry, source);
}

const registered = (): Set<string> =>
  new Set(KIND_NAMES.flatMap((kind) => registries[kind].keys().map((key) => `${kind}/${key}`)));

function parseId(id: string): { kind: Kind; key: string } {
  const slash = id.indexOf("/");
  return { kind: id.slice(0, slash) as Kind, key: id.slice(slash + 1) };
}

const kindOf = (value: unknown): string =>
  value === undefined ? "missing" : value === null ? "null" : `of type ${typeof value}`;
