import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { VerlError } from "../errors/index.ts";
import { loadPlugin, loadPlugins, type LoadedPlugin } from "../registry/index.ts";
import { packageFolder, pluginManifest, type PluginManifest } from "../registry/manifest.ts";

/** A plugin's package with its plugin loaded. */
export interface PluginPackage {
  readonly manifest: PluginManifest;
  readonly loaded: LoadedPlugin;
}

/**
 * Loads the plugin of a package: the source that its manifest names, where that is there, else what the package exports.
 * @param given A folder, or the name of an installed package.
 * @throws VERL_CLI_FILE where there is no such plugin; all that loading throws.
 */
export async function loadPackage(given: string, cwd: string): Promise<PluginPackage> {
  const folder = existsSync(join(resolve(cwd, given), "package.json"))
    ? resolve(cwd, given)
    : packageFolder(given, cwd);
  const manifest = folder === undefined ? undefined : pluginManifest(folder);
  if (folder === undefined || manifest === undefined) {
    const what =
      folder === undefined ? "is neither a folder with a package.json nor an installed package" : "is no plugin";
    throw new VerlError("VERL_CLI_FILE", `"${given}" ${what}.`, {
      hint: 'The package.json of a plugin has the keyword "verl-plugin" or a field "verl"; `npm create verl-plugin` makes one.',
      details: { given, folder },
    });
  }
  await loadPlugins([]);
  const source = manifest.source === undefined ? undefined : join(folder, manifest.source);
  const specifier = source !== undefined && existsSync(source) ? source : `module:${manifest.name}`;
  return { manifest, loaded: await loadPlugin(specifier, { configFile: join(folder, "package.json") }) };
}
