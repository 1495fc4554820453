import { InvalidArgumentError, type Command } from "commander";
import { loadRunConfig, type LoadedConfig, type SchemaName } from "../config/index.ts";
import { leaves } from "../config/print.ts";
import { place } from "../config/problem.ts";
import { VerlError } from "../errors/index.ts";
import type { RunFacts } from "../trainer/report/run-facts.ts";
import type { TrainerOptions } from "../trainer/run-options.ts";
import type { FitResult } from "../trainer/run-record.ts";
import type { CliContext } from "./command.ts";
import { addConfigOptions, loadOptions, type ConfigOptions } from "./config-options.ts";

interface Options extends ConfigOptions {
  seed?: number;
  json?: boolean;
}

/** What `verl train` and `verl sft` differ in. */
export interface RunCommand<S extends SchemaName> {
  readonly schema: S;
  readonly examples: readonly string[];
  /** Trains with a config that has passed all checks. Imports tfjs and the trainer, which a wrong config never waits for. */
  run(config: LoadedConfig<S>["config"], options: TrainerOptions): Promise<FitResult>;
}

/** Remarks about a config that are shown one by one; more are only counted. */
const SHOWN_NOTES = 3;

/** Makes a command that trains: config and plugins first, then the run. */
export function configureRun<S extends SchemaName>(self: Command, ctx: CliContext, command: RunCommand<S>): void {
  addConfigOptions(self)
    .option("--seed <n>", "seed of the run; short for trainer.seed=<n>", parseSeed)
    .option("--json", "print the result as JSON; stdout holds nothing else")
    .addHelpText("after", ["", "Examples:", ...command.examples.map((example) => `  ${example}`)].join("\n"))
    .action(async (args: string[], options: Options) => {
      const seed = options.seed === undefined ? [] : [`trainer.seed=${options.seed}`];
      const loaded = await loadRunConfig(loadOptions(command.schema, [...args, ...seed], options, ctx));
      tellNotes(loaded, ctx);
      const result = await run(command, loaded, args, options, ctx);
      if (options.json) ctx.print(JSON.stringify(result, null, 2));
    });
}

async function run<S extends SchemaName>(
  command: RunCommand<S>,
  loaded: LoadedConfig<S>,
  args: readonly string[],
  { json }: Options,
  ctx: CliContext,
): Promise<FitResult> {
  const { config } = loaded;
  const facts = factsOf(command.schema, loaded, args);
  await writeFacts(config.trainer.default_local_dir, facts);
  const quiet = json ? withoutConsole(config) : config;
  return command.run(quiet, { stream: streamOf(ctx), signal: ctx.signal, directory: ctx.cwd });
}

/** The first file of the run, and so the test of its directory. @throws VERL_TRAIN_DIRECTORY */
async function writeFacts(directory: string, facts: RunFacts): Promise<void> {
  const { writeRunFacts } = await import("../trainer/report/run-facts.ts");
  try {
    await writeRunFacts(directory, facts);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new VerlError("VERL_TRAIN_DIRECTORY", `The run's directory ${directory} cannot be written: ${reason}.`, {
      location: { file: directory, path: "trainer.default_local_dir" },
      hint: "Free space there, or set trainer.default_local_dir to another directory.",
      cause,
    });
  }
}

/** The console tracker writes to stdout, which then belongs to the JSON. */
function withoutConsole<C extends LoadedConfig["config"]>(config: C): C {
  const logger = config.trainer.logger.filter((key) => key !== "console");
  return { ...config, trainer: { ...config.trainer, logger } };
}

function factsOf(command: SchemaName, loaded: LoadedConfig, args: readonly string[]): RunFacts {
  const { trainer } = loaded.config;
  const config = [...leaves(loaded.config, [])].map(([path, value]) => {
    const name = path.join(".");
    return { path: name, value, origin: place(loaded.originOf(name)) || "default" };
  });
  return {
    name: `${trainer.project_name}/${trainer.experiment_name}`,
    command: ["verl", command === "ppo" ? "train" : command, ...args].join(" "),
    seed: trainer.seed,
    config,
  };
}

function tellNotes({ notes }: LoadedConfig, ctx: CliContext): void {
  for (const { message } of notes.slice(0, SHOWN_NOTES)) ctx.logger.info(`Note: ${message}`);
  const more = notes.length - SHOWN_NOTES;
  if (more > 0) ctx.logger.info(`Note: ${more} more remarks about the config; \`verl config explain\` shows them all.`);
}

const streamOf = (ctx: CliContext): TrainerOptions["stream"] => ({
  write: (text) => ctx.status(text),
  isTTY: ctx.interactive,
  get columns() {
    return process.stderr.columns;
  },
});

function parseSeed(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("A seed is a whole number, 0 or more.");
  return Number(text);
}
