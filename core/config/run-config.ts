import { resolve } from "node:path";
import { isVerlError } from "../errors/index.ts";
import { loadPlugin, loadPlugins } from "../registry/index.ts";
import { checkMachines } from "./check-machines.ts";
import { checkTransport } from "./check-transport.ts";
import { checkRunnable } from "./check-run.ts";
import { knownValues } from "./known-values.ts";
import { readConfig, type LoadedConfig, type LoadOptions } from "./load.ts";
import { problemsError, type Problem } from "./problem.ts";
import type { SchemaName } from "./schema/index.ts";
import { checkSelections, problemsOf } from "./selections.ts";

/**
 * The config of a run: as `loadConfig`, then the built-ins and the config's `plugins:` are loaded, and every registry key and plugin
 * option is checked. Problems of all these come together.
 * @throws One VerlError with every problem in `details.problems`.
 */
export async function loadRunConfig<S extends SchemaName>(options: LoadOptions<S>): Promise<LoadedConfig<S>> {
  const read = readConfig(options);
  const pluginProblems = await loadPluginsOf(read.loaded);
  const checked = checkSelections(read.loaded);
  // A plugin that could not be loaded explains the keys that are missing.
  const problems = [...read.problems, ...(pluginProblems.length > 0 ? pluginProblems : checked.problems)];
  const known = knownValues(read.loaded.config, problems);
  if (options.schema === "ppo") problems.push(...checkRunnable(known, read.loaded.originOf));
  problems.push(...checkMachines(known, read.loaded.originOf), ...checkTransport(known, read.loaded.originOf));
  if (problems.length > 0) throw problemsError(problems, read.loaded.sources);
  return checked.loaded;
}

/** Loads the built-ins and the plugins of a config; relative paths start from the file that names them. */
async function loadPluginsOf({ config, directory, originOf }: LoadedConfig): Promise<Problem[]> {
  await loadPlugins([]);
  const problems: Problem[] = [];
  const plugins = (config.plugins ?? []).filter((name) => typeof name === "string");
  for (const [index, specifier] of plugins.entries()) {
    const item = originOf(`plugins.${index}`);
    const location = (item.file ?? item.override) ? item : originOf("plugins");
    try {
      await loadPlugin(specifier, { configFile: resolve(directory, location.file ?? "none"), location });
    } catch (error) {
      if (!isVerlError(error)) throw error;
      problems.push(...problemsOf(error));
    }
  }
  return problems;
}
