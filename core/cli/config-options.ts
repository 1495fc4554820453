import type { Command } from "commander";
import type { LoadOptions } from "../config/index.ts";
import { VerlError } from "../errors/index.ts";
import type { CliContext } from "./command.ts";
import { droppedNote, readPastedLine, type Trainer } from "./pasted-line.ts";

/** What {@link addConfigOptions} adds. */
export interface ConfigOptions {
  config?: string;
  configPath?: string;
  configName?: string;
}

/** The arguments of every command that reads a config: a file, and overrides in Hydra's grammar. */
export function addConfigOptions(self: Command): Command {
  return self
    .argument("[overrides...]", "a config file, then key=value, +key=value, ++key=value, ~key")
    .option("-c, --config <file>", "YAML file of the run")
    .option("--config-path <folder>", "folder of config files, as in Hydra")
    .option("--config-name <name>", "name of a file in that folder, as in Hydra");
}

/** `rewrite` of the commands that read a config: a pasted line that starts Python is read too, with one note of what that left out. */
export function withoutPython(words: readonly string[], trainer: Trainer, { logger }: CliContext): readonly string[] {
  const line = readPastedLine(words, trainer);
  const note = droppedNote(line);
  if (note !== undefined) logger.info(`Note: ${note}`);
  return line.args;
}

/** The options of `loadConfig` that a command line asks for. A first argument that is a YAML file's name is `-c`. */
export function loadOptions<S extends LoadOptions["schema"]>(
  schema: S,
  args: readonly string[],
  { config, configPath, configName }: ConfigOptions,
  { cwd }: Pick<CliContext, "cwd">,
): LoadOptions<S> {
  const [first = ""] = args;
  const files = args.filter((word) => /^[^=~+]*\.ya?ml$/.test(word));
  if (config !== undefined) files.push(`-c ${config}`);
  if (configName !== undefined) files.push(`--config-name ${configName}`);
  if (files.length > 1) throw severalFiles(files);
  const named = config === undefined && first === files[0];
  return {
    schema,
    file: named ? first : config,
    configPath,
    configName,
    overrides: named ? args.slice(1) : args,
    directory: cwd,
  };
}

const severalFiles = (files: readonly string[]): VerlError =>
  new VerlError("VERL_CONFIG_FILE", `A run has one config file, and ${files.length} are named: ${files.join(", ")}.`, {
    hint: "Name one of them; `extends: [base.yaml]` in a file builds it upon others.",
  });
