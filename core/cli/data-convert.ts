import { extname, resolve } from "node:path";
import type { Command } from "commander";
import { convertRows, readMapping, readTable, typeText, writeParquet } from "../data/index.ts";
import { counted, VerlError } from "../errors/index.ts";
import type { CliContext } from "./command.ts";
import { writeOutput } from "./output-file.ts";
import { table } from "./table.ts";

interface Options {
  out: string;
  map?: string;
  json?: boolean;
}

const MAPPING = `
A mapping says what is in each column:
  columns:
    data_source: my/gsm8k
    prompt:
      - { role: user, content: "{question} Think step by step." }
    reward_model: { style: rule, ground_truth: "{answer|after ####|trim}" }
    extra_info: { index: "{row_index}", level: "{difficulty|number}" }
    tools: "{functions}"
  types: { tools: json }
{field} is a field of the row, {a.b} one of a struct; behind | stand filters: trim, lower, after X, before X, without X, number, text, json,
messages (chat JSON of either form). {{ and }} are braces. A text that is one field and nothing else keeps the field's type.

Examples:
  verl data convert gsm8k.jsonl --map gsm8k.yaml --out train.parquet
  verl data convert chats.json --out sft.parquet`;

/** `verl data convert`: JSON Lines, JSON, CSV or parquet to parquet in verl's columns. */
export function configureConvert(self: Command, ctx: CliContext): void {
  self
    .description("Write a parquet file in verl's columns from JSON Lines, JSON, CSV, TSV or parquet")
    .argument("<file>", "the file to read")
    .requiredOption("--out <file>", "the parquet file to write")
    .option("--map <file>", "YAML mapping of columns; default: the columns as they are, ShareGPT chats as messages")
    .option("--json", "print what was written as JSON")
    .addHelpText("after", MAPPING)
    .action(async (given: string, options: Options) => {
      const file = resolve(ctx.cwd, given);
      const out = resolve(ctx.cwd, options.out);
      if (extname(out) !== ".parquet") {
        throw new VerlError("VERL_DATA_FILE_FORMAT", `The output "${options.out}" is no .parquet file.`, {
          hint: "Name it so: --out train.parquet.",
        });
      }
      const mapping = options.map === undefined ? undefined : await readMapping(resolve(ctx.cwd, options.map));
      const { rows, schema } = convertRows(await readTable(file), mapping, given);
      await writeOutput(out, () => writeParquet(out, rows, schema));
      if (mapping === undefined && !("prompt" in schema) && !("messages" in schema))
        ctx.logger.warn(
          `Neither \`verl train\` nor \`verl sft\` can read ${options.out} by its defaults: it has no column \`prompt\` and none \`messages\`. Say by --map what makes them; \`verl data convert --help\` shows a mapping.`,
        );
      const columns = Object.entries(schema).map(([name, type]) => [name, typeText(type)] as const);
      if (options.json)
        ctx.print(JSON.stringify({ file: out, rows: rows.length, columns: Object.fromEntries(columns) }, null, 2));
      else ctx.print(`Wrote ${counted(rows.length, "row")} to ${options.out}.\n${table(columns)}`);
    });
}
