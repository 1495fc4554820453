import { stringify } from "yaml";
import type { FieldSchema } from "./schema/field.ts";
import { SCHEMAS, type SchemaName } from "./schema/index.ts";
import { expected } from "./validate.ts";

const TITLES: Readonly<Record<SchemaName, string>> = { ppo: "verl train", sft: "verl sft" };
const COMMENT_WIDTH = 118;

/** The commented default file of a command (`ppo_trainer.yaml`, `sft_trainer.yaml`), made from the schema. */
export function defaultYaml(name: SchemaName): string {
  const command = `verl config defaults${name === "sft" ? " --sft" : ""}`;
  const head = `# Every key of \`${TITLES[name]}\` with its default. Printed by \`${command}\`; the source is core/config/schema.`;
  return `${head}\n${sectionYaml(SCHEMAS[name], "")}`;
}

function sectionYaml(schema: FieldSchema, indent: string): string {
  return Object.entries(schema.properties ?? {})
    .map(([key, field]) => {
      const comments = comment(field, indent);
      if (field.properties !== undefined)
        return `\n${comments}${indent}${quoted(key)}:\n${sectionYaml(field, `${indent}  `)}`;
      return `${comments}${indent}${quoted(key)}: ${flow(field.default)}\n`;
    })
    .join("");
}

function comment(field: FieldSchema, indent: string): string {
  const allowed = field.enum !== undefined || hasBounds(field) ? ` (${expected(field)})` : "";
  const text = `${field.description ?? ""}${allowed}`;
  const departure = field["x-departure"];
  return [text, ...(departure === undefined ? [] : [`Departure: ${departure}`])]
    .flatMap((sentence) => wrap(sentence, COMMENT_WIDTH - indent.length))
    .map((line) => `${indent}# ${line}\n`)
    .join("");
}

const hasBounds = ({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: FieldSchema): boolean =>
  [minimum, exclusiveMinimum, maximum, exclusiveMaximum].some((bound) => bound !== undefined);

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === "" ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

const flow = (value: unknown): string =>
  stringify(value, { collectionStyle: "flow", lineWidth: 0, flowCollectionPadding: false }).trimEnd();

/** YAML 1.1 readers, PyYAML among them, take a bare `n` for false. */
const quoted = (key: string): string => (key === "n" ? '"n"' : key);
