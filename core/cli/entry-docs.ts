import type { JSONSchema7, JSONSchema7Definition } from "json-schema";
import { kindInfo, type EntryMeta, type Kind } from "../registry/index.ts";

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
const row = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;

/** A Markdown table. */
export const markdownTable = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => [
  row(head),
  row(head.map(() => "---")),
  ...rows.map(row),
];

/** Text as code, in Markdown. */
export const code = (text: string): string => `\`${text}\``;

/** Lines after an empty one; nothing stays nothing. */
export const block = (lines: readonly string[]): string[] => (lines.length === 0 ? [] : ["", ...lines]);

/** What of an entry fits in no line of a table: required fields, options, metrics. */
export function entryDetails({ requires = [], optionsSchema, metrics = {} }: EntryMeta): string[] {
  const options = optionRows(optionsSchema);
  const reported = Object.entries(metrics).map(([name, meaning]) => [code(name), meaning]);
  return [
    ...block(requires.length > 0 ? [`Requires ${requires.map(code).join(", ")}.`] : []),
    ...block(options.length > 0 ? markdownTable(["option", "default", "meaning"], options) : []),
    ...block(reported.length > 0 ? markdownTable(["metric", "meaning"], reported) : []),
  ];
}

/** The section of an entry in a README of its own: what it does, how it is chosen, and its details. */
export function entrySection(kind: Kind, key: string, entry: EntryMeta): string {
  const { title, selectedBy, optionsAt } = kindInfo(kind);
  const { paper, departures = [], optionsSchema } = entry;
  const places = [
    selectedBy && `Chosen by ${code(`${selectedBy}: ${key}`)}`,
    optionsSchema && optionsAt && `options under ${code(optionsAt)}`,
  ].filter(Boolean);
  return [
    `### ${code(key)}: ${title}`,
    ...block([entry.description + (paper === undefined ? "" : ` Paper: ${paper}.`)]),
    ...block(places.length > 0 ? [`${places.join("; ").replace(/^o/, "O")}.`] : []),
    ...entryDetails(entry),
    ...block(departures.map((departure) => `- Otherwise than verl: ${departure}`)),
  ].join("\n");
}

/** One row an option, those of nested sections under dotted names. */
function optionRows(schema: JSONSchema7Definition | undefined, path = ""): string[][] {
  if (typeof schema !== "object") return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const own: JSONSchema7 = typeof property === "object" ? property : {};
    const value = "default" in own ? code(JSON.stringify(own.default)) : "required";
    const allowed = own.enum ? ` One of ${own.enum.map((one) => code(JSON.stringify(one))).join(", ")}.` : "";
    const inner = optionRows(own, `${path}${name}.`);
    return [[code(`${path}${name}`), value, `${own.description}${allowed}`], ...inner];
  });
}
