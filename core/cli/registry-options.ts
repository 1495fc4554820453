import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Command } from "commander";
import { parse } from "yaml";
import { VerlError } from "../errors/index.ts";
import { KIND_NAMES, loadPlugin, loadPlugins, nearest, type Kind } from "../registry/index.ts";
import type { CliContext } from "./command.ts";

export interface RegistryOptions {
  plugin: string[];
  config?: string;
  json?: boolean;
}

/** The options of commands that look into the registries. */
export function addRegistryOptions(self: Command): Command {
  return self
    .option(
      "--plugin <name>",
      "also load this plugin: a package or a file (may be repeated)",
      (name, all: string[]) => [...all, name],
      [],
    )
    .option("-c, --config <file>", "also load the `plugins:` of this run file")
    .option("--json", "print JSON");
}

/** Loads the built-ins and what the options ask for. */
export async function loadForOptions({ plugin, config }: RegistryOptions, ctx: CliContext): Promise<void> {
  const configFile = config === undefined ? undefined : resolve(ctx.cwd, config);
  await loadPlugins(configFile === undefined ? [] : await pluginsOf(configFile), { configFile });
  for (const specifier of plugin) await loadPlugin(specifier, { configFile: resolve(ctx.cwd, "command-line") });
}

async function pluginsOf(file: string): Promise<string[]> {
  const tree = parse(await readFile(file, "utf8")) as { plugins?: string[] } | null;
  return tree?.plugins ?? [];
}

/** @throws VERL_KIND_UNKNOWN */
export function parseKind(text: string): Kind {
  if ((KIND_NAMES as readonly string[]).includes(text)) return text as Kind;
  const [meant] = nearest(text, KIND_NAMES);
  throw new VerlError("VERL_KIND_UNKNOWN", `There is no kind of plugin called "${text}".`, {
    hint: `${meant === undefined ? "" : `Did you mean "${meant}"? `}The kinds are ${KIND_NAMES.join(", ")}.`,
    details: { kind: text },
  });
}
