import { defaultYaml, explain, loadConfig, loadRunConfig, printConfig, showExplanation } from "../config/index.ts";
import { counted, isVerlError } from "../errors/index.ts";
import type { CliCommand, CliContext } from "./command.ts";
import { addConfigOptions, loadOptions, withoutPython, type ConfigOptions } from "./config-options.ts";

interface Options extends ConfigOptions {
  sft?: boolean;
  json?: boolean;
  origin?: boolean;
}

export const command: CliCommand = {
  rewrite: (words, ctx) => withoutPython(words, words.includes("--sft") ? "sft" : "train", ctx),
  configure(self, ctx) {
    const subcommand = (name: string, summary: string) =>
      addConfigOptions(self.command(name).description(summary)).option("--sft", "it is a config of `verl sft`");

    self
      .command("defaults")
      .description("Print every key with its default and what it means, as YAML")
      .option("--sft", "those of `verl sft`")
      .action(({ sft }: Options) => ctx.print(defaultYaml(sft ? "sft" : "ppo").trimEnd()));

    subcommand("print", "Print the whole config, defaults and interpolations in")
      .option("--origin", "one line a value, with where it was written")
      .option("--json", "print JSON")
      .action((args: string[], options: Options) => print(args, options, ctx));

    subcommand("explain", "Print the numbers that follow from the config, and which keys have no effect")
      .option("--json", "print JSON")
      .action(async (args: string[], options: Options) => {
        const loaded = await loadRunConfig(request(args, options, ctx));
        if (options.json) ctx.print(JSON.stringify({ numbers: explain(loaded), notes: loaded.notes }, null, 2));
        else ctx.print(showExplanation(loaded));
      });

    subcommand("validate", "Check the config and its plugins' options; start nothing")
      .option("--json", "print JSON: `valid`, `problems` and `notes`")
      .action((args: string[], options: Options) => validate(args, options, ctx));
  },
};

async function validate(args: readonly string[], options: Options, ctx: CliContext): Promise<void> {
  const tell = (verdict: object): void => ctx.print(JSON.stringify(verdict, null, 2));
  try {
    const { notes } = await loadRunConfig(request(args, options, ctx));
    const remarks = notes.length === 0 ? "" : ` ${counted(notes.length, "remark")}, see \`verl config explain\`.`;
    if (options.json) tell({ valid: true, problems: [], notes });
    else ctx.print(`The config is valid.${remarks}`);
  } catch (error) {
    // Told on stderr too, with its exit code.
    if (options.json && isVerlError(error))
      tell({ valid: false, problems: error.details?.["problems"] ?? [error], notes: [] });
    throw error;
  }
}

function print(args: readonly string[], options: Options, ctx: CliContext): void {
  const loaded = loadConfig(request(args, options, ctx));
  if (options.json) ctx.print(JSON.stringify(loaded.config, null, 2));
  else ctx.print(printConfig(loaded, { origin: options.origin }).trimEnd());
}

const request = (args: readonly string[], options: Options, ctx: CliContext) =>
  loadOptions(options.sft ? "sft" : "ppo", args, options, ctx);
