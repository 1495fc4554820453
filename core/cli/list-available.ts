import { installedPlugins, loadedPlugins } from "../registry/index.ts";
import type { CliContext } from "./command.ts";
import { table } from "./table.ts";

/** Plugins that the project has installed and this command has not loaded; nothing of them is imported. */
export const availablePlugins = (cwd: string) => {
  const loaded = new Set(loadedPlugins().map(({ name }) => name));
  return installedPlugins(cwd).filter(({ name }) => !loaded.has(name));
};

/** Prints them with what they provide and the line that enables them. */
export function listAvailable({ json }: { json?: boolean }, ctx: CliContext): void {
  const found = availablePlugins(ctx.cwd);
  if (json) {
    ctx.print(
      JSON.stringify(
        found.map(({ name, version, provides, preset }) => ({ name, version, provides, preset })),
        null,
        2,
      ),
    );
    return;
  }
  if (found.length === 0) return ctx.print("Every plugin that this project depends on and has installed is enabled.");
  const rows = found.map(({ name, version, provides, preset }) => {
    const keys = Object.entries(provides).flatMap(([kind, own]) => own.map((key) => `${kind}/${key}`));
    const what =
      [...keys, ...(preset === undefined ? [] : ["a preset"])].join(", ") || "says nothing of what it provides";
    return [`${name}@${version}`, what, `plugins: [${name}]`];
  });
  ctx.print(`Installed, not enabled:\n${table(rows)}`);
}
