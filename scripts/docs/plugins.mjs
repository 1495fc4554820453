// Writes plugins/README.md from what the built-ins tell about themselves: `node --import tsx scripts/docs/plugins.mjs`.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { block, code, entryDetails, markdownTable } from "../../core/cli/entry-docs.ts";
import { CONFIG_DEPARTURES } from "../../core/config/departures.ts";

/** The page for what the built-in plugin provides, in the order of `kinds`, keys sorted. */
export function pluginsPage(kinds, provides) {
  const sorted = [...provides].sort((a, b) => (a.key < b.key ? -1 : 1));
  const sections = Object.entries(kinds).flatMap(([kind, info]) => {
    const own = sorted.filter((item) => item.kind === kind);
    return own.length === 0 ? [] : [kindSection(kind, info, own)];
  });
  const departures = Object.keys(kinds).flatMap((kind) =>
    sorted
      .filter((item) => item.kind === kind)
      .flatMap(({ key, entry }) => (entry.departures ?? []).map((text) => [code(kind), code(key), text])),
  );
  const ofConfig = Object.entries(CONFIG_DEPARTURES).flatMap(([key, texts]) =>
    texts.map((text) => ["config", code(key), text]),
  );
  return `${HEAD}\n${sections.join("\n\n")}\n\n${DEPARTURES}\n${markdownTable(["kind", "key", "what differs, and why"], [...departures, ...ofConfig]).join("\n")}\n`;
}

function kindSection(kind, { title, selectedBy, optionsAt }, items) {
  const places = [selectedBy && `Chosen by ${code(selectedBy)}`, optionsAt && `options under ${code(optionsAt)}`];
  const sentence = places.filter(Boolean).join("; ").replace(/^o/, "O");
  const summary = items.map(({ key, entry }) => [keyAndAliases(key, entry), entry.description, entry.paper ?? ""]);
  return [
    `## ${code(kind)}: ${title}`,
    ...block(sentence ? [`${sentence}.`] : []),
    ...block(markdownTable(["key", "what it does", "paper"], summary)),
    ...items.flatMap(details),
  ].join("\n");
}

const keyAndAliases = (key, { aliases = [] }) =>
  [code(key), ...(aliases.length > 0 ? [`also ${aliases.map(code).join(", ")}`] : [])].join(", ");

function details({ key, entry }) {
  const lines = entryDetails(entry);
  return lines.length === 0 ? [] : ["", `### ${code(key)}`, ...lines];
}

const HEAD = `# Built-ins

<!-- Generated from the entries themselves by scripts/docs/plugins.mjs. Do not edit. -->

All that the package brings by itself, as one plugin, \`verl/plugins\`, which is loaded as any other. Each key is one file in the folder of
its kind. \`verl list\` prints the same for a project, with the plugins that it loads.
`;

const DEPARTURES = `## Departures from verl

Formulas, defaults and metric names are verl's. Where an entry, or a key of the config, does otherwise, it says so here.
`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { KINDS } = await import("../../core/index.ts");
  const { default: plugin } = await import("../../plugins/index.ts");
  await writeFile(new URL("../../plugins/README.md", import.meta.url), pluginsPage(KINDS, plugin.provides));
}
