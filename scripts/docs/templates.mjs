// Writes the tables of each template's README from its own source: `node --import tsx scripts/docs/templates.mjs`.
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { entrySection } from "../../core/cli/entry-docs.ts";
import { TEMPLATE_NAMES } from "../../templates/src/templates.ts";

const at = (path) => new URL(`../../templates/projects/${path}`, import.meta.url);

/** Tables by template; keys are the placeholder `__key__`. */
export async function templateTables() {
  const tables = new Map();
  for (const name of TEMPLATE_NAMES) {
    const source = [`${name}/src/index.ts`, `${name}/index.js`].map(at).find(existsSync);
    const { default: plugin } = await import(source.href);
    const sections = plugin.provides.map(({ kind, key, entry }) => entrySection(kind, key, entry));
    tables.set(name, `${sections.join("\n\n")}\n`);
  }
  return tables;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, text] of await templateTables()) await writeFile(at(`${name}/parts/tables.md`), text);
}
