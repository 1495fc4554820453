// Writes plugins/README.md from what the built-ins tell about themselves: `node scripts/docs/plugins.mjs`.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const cell = (text) => text.replaceAll("|", "\\|").replaceAll("\n", " ");
const row = (...cells) => `| ${cells.map(cell).join(" | ")} |`;
const table = (head, rows) => [row(...head), row(...head.map(() => "---")), ...rows.map((cells) => row(...cells))];
const code = (text) => `\`${text}\``;
const block = (lines) => (lines.length === 0 ? [] : ["", ...lines]);

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
  return `${HEAD}\n${sections.join("\n\n")}\n\n${DEPARTURES}\n${table(["kind", "key", "what differs, and why"], departures).join("\n")}\n`;
}

function kindSection(kind, { title, selectedBy, optionsAt }, items) {
  const places = [selectedBy && `Chosen by ${code(selectedBy)}`, optionsAt && `options under ${code(optionsAt)}`];
  const sentence = places.filter(Boolean).join("; ").replace(/^o/, "O");
  const summary = items.map(({ key, entry }) => [keyAndAliases(key, entry), entry.description, entry.paper ?? ""]);
  return [
    `## ${code(kind)}: ${title}`,
    ...block(sentence ? [`${sentence}.`] : []),
    ...block(table(["key", "what it does", "paper"], summary)),
    ...items.flatMap(details),
  ].join("\n");
}

const keyAndAliases = (key, { aliases = [] }) =>
  [code(key), ...(aliases.length > 0 ? [`also ${aliases.map(code).join(", ")}`] : [])].join(", ");

/** What does not fit in the table, for entries that have it. */
function details({ key, entry }) {
  const { requires = [], optionsSchema, metrics = {} } = entry;
  const options = optionRows(optionsSchema);
  const reported = Object.entries(metrics).map(([name, meaning]) => [code(name), meaning]);
  if (requires.length + options.length + reported.length === 0) return [];
  return [
    "",
    `### ${code(key)}`,
    ...block(requires.length > 0 ? [`Requires ${requires.map(code).join(", ")}.`] : []),
    ...block(options.length > 0 ? table(["option", "default", "meaning"], options) : []),
    ...block(reported.length > 0 ? table(["metric", "meaning"], reported) : []),
  ];
}

/** One row an option, those of nested sections under dotted names. */
function optionRows(schema, path = "") {
  return Object.entries(schema?.properties ?? {}).flatMap(([name, property]) => {
    const value = "default" in property ? code(JSON.stringify(property.default)) : "required";
    const allowed = property.enum ? ` One of ${property.enum.map((one) => code(JSON.stringify(one))).join(", ")}.` : "";
    const inner = optionRows(property, `${path}${name}.`);
    return [[code(`${path}${name}`), value, `${property.description}${allowed}`], ...inner];
  });
}

const HEAD = `# Built-ins

<!-- Generated from the entries themselves by scripts/docs/plugins.mjs. Do not edit. -->

All that the package brings by itself, as one plugin, \`verl/plugins\`, which is loaded as any other. Each key is one file in the folder of
its kind. \`verl list\` prints the same for a project, with the plugins that it loads.
`;

const DEPARTURES = `## Departures from verl

Formulas, defaults and metric names are verl's. Where an entry does otherwise, it says so here.
`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { register } = await import("tsx/esm/api");
  register();
  const { KINDS } = await import("../../core/index.ts");
  const { default: plugin } = await import("../../plugins/index.ts");
  await writeFile(new URL("../../plugins/README.md", import.meta.url), pluginsPage(KINDS, plugin.provides));
}
