import { KIND_NAMES, kindInfo, registries, type Kind, type Registration } from "../registry/index.ts";
import type { CliCommand } from "./command.ts";
import { listAvailable } from "./list-available.ts";
import { addRegistryOptions, loadForOptions, parseKind, type RegistryOptions } from "./registry-options.ts";
import { table } from "./table.ts";

export const command: CliCommand = {
  configure(self, ctx) {
    addRegistryOptions(self.argument("[kind]", "one kind only, for example adv_estimator"))
      .option("--available", "list installed plugins that are not enabled, without importing them")
      .action(async (kind: string | undefined, options: RegistryOptions & { available?: boolean }) => {
        const kinds = kind === undefined ? KIND_NAMES : [parseKind(kind)];
        await loadForOptions(options, ctx);
        if (options.available) return listAvailable(options, ctx);
        if (options.json)
          ctx.print(
            JSON.stringify(
              kinds.flatMap((one) => registries[one].registrations().map(asJson)),
              null,
              2,
            ),
          );
        else ctx.print(kinds.map(section).join("\n\n"));
      });
  },
};

function asJson({ kind, key, entry, source, overrides }: Registration): object {
  const { description, paper, aliases = [] } = entry;
  return { kind, key, aliases, description, paper, source, overrides };
}

function section(kind: Kind): string {
  const { title, selectedBy } = kindInfo(kind);
  const head = selectedBy === undefined ? `${kind} (${title})` : `${kind} (${title}, ${selectedBy})`;
  const rows = registries[kind].registrations().map(({ key, entry, source, overrides }) => {
    const spellings = [key, ...(entry.aliases ?? [])].join(", ");
    return [spellings, overrides === undefined ? source : `${source}, overrides ${overrides}`, entry.description];
  });
  return rows.length === 0 ? `${head}\n  none` : `${head}\n${table(rows)}`;
}
