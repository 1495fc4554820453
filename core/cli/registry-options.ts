import { resolve } from "node:path";
import type { Command } from "commander";
import { VerlError, type ErrorLocation } from "../errors/index.ts";
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
  const named = config === undefined ? [] : await pluginsOf(config, ctx);
  await loadPlugins(
    named.map(({ name }) => name),
    {
      configFile: resolve(ctx.cwd, config ?? "none"),
      locate: (index) => named[index]?.location,
    },
  );
  for (const specifier of plugin) {
    await loadPlugin(specifier, {
      configFile: resolve(ctx.cwd, "none"),
      location: { override: `--plugin ${specifier}` },
    });
  }
}

/** The `plugins:` of a run file and of the files that it builds upon; the rest of it need not be valid. */
async function pluginsOf(file: string, ctx: CliContext): Promise<{ name: string; location: ErrorLocation }[]> {
  const [{ Composer }, { problemsError }, { getAt, locationOf }] = await Promise.all([
    import("../config/compose.ts"),
    import("../config/problem.ts"),
    import("../config/tree.ts"),
  ]);
  const composer = new Composer(ctx.cwd);
  const tree = composer.load(file);
  if (composer.problems.length > 0) throw problemsError(composer.problems, composer.sources);
  const list = getAt(tree, ["plugins"]);
  return (list?.kind === "list" ? list.items : []).flatMap((item, index) => {
    const location = locationOf(item.origin, ["plugins", String(index)]);
    return item.kind === "scalar" && typeof item.value === "string" ? [{ name: item.value, location }] : [];
  });
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
