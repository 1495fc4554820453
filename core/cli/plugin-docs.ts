import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VerlError } from "../errors/index.ts";
import { registries, type Registration } from "../registry/index.ts";
import type { CliContext } from "./command.ts";
import { entrySection } from "./entry-docs.ts";
import { loadPackage, type PluginPackage } from "./plugin-package.ts";

/** The markers of a README, each a comment on a line of its own; the first may say more. */
const BEGIN = /^<!-- verl:begin\b[^\n]*-->$/m;
const END = /^<!-- verl:end -->$/m;

/** Prints the tables of a plugin, writes them into its README, or compares. @throws VERL_CLI_FILE */
export async function documentPackage(
  given: string,
  { write, check }: { write?: boolean; check?: boolean },
  ctx: CliContext,
): Promise<void> {
  const found = await loadPackage(given, ctx.cwd);
  const tables = tablesOf(found);
  if (!write && !check) return ctx.print(tables);
  const file = join(found.manifest.folder, "README.md");
  const before = existsSync(file) ? readFileSync(file, "utf8") : "";
  const after = withTables(before, tables, file);
  if (after === before) return ctx.print(`${file} has the tables of the source.`);
  if (write) {
    writeFileSync(file, after);
    return ctx.print(`Wrote the tables into ${file}.`);
  }
  throw new VerlError("VERL_CLI_FILE", `${file} has other tables than the source says.`, {
    hint: "Run `verl plugin docs --write`.",
  });
}

function tablesOf({ loaded }: PluginPackage): string {
  const sections = loaded.provides.map(({ kind, key }) => {
    const { entry }: Registration = registries[kind].find(key);
    return entrySection(kind, key, entry);
  });
  return sections.join("\n\n");
}

function withTables(text: string, tables: string, file: string): string {
  const [begin, end] = [BEGIN.exec(text), END.exec(text)];
  if (begin === null || end === null || end.index < begin.index) {
    throw new VerlError("VERL_CLI_FILE", `${file} has no place for the tables.`, {
      hint: "Put the lines `<!-- verl:begin -->` and `<!-- verl:end -->` where they belong.",
    });
  }
  return `${text.slice(0, begin.index + begin[0].length)}\n\n${tables}\n\n${text.slice(end.index)}`;
}
