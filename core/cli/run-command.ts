import { InvalidArgumentError, type Command } from "commander";
import { loadRunConfig, type LoadedConfig, type SchemaName } from "../config/index.ts";
import { leaves } from "../config/print.ts";
import { place } from "../config/problem.ts";
import { counted } from "../errors/index.ts";
import { pointedCheckpoint } from "../trainer/checkpoint/pointer.ts";
import type { RunFacts } from "../trainer/report/run-facts.ts";
import type { TrainerOptions } from "../trainer/run-options.ts";
import type { FitResult } from "../trainer/run-record.ts";
import type { CliContext } from "./command.ts";
import { addConfigOptions, loadOptions, type ConfigOptions } from "./config-options.ts";
import { requireInputs } from "./required-inputs.ts";

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
    .option("--json", "print the result as JSON; stdout has nothing else, and what your code prints goes to stderr")
    .addHelpText("after", ["", "Examples:", ...command.examples.map((example) => `  ${example}`)].join("\n"))
    .action(async (args: string[], options: Options) => {
      const seed = options.seed === undefined ? [] : [`trainer.seed=${options.seed}`];
      const loaded = await loadRunConfig(loadOptions(command.schema, [...args, ...seed], options, ctx));
      tellNotes(loaded, ctx);
      requireInputs(loaded);
      const work = (): Promise<FitResult> => run(command, loaded, args, options, ctx);
      const result = await ctx.run(work, () => lastCheckpoint(loaded.config.trainer.default_local_dir));
      if (options.json) ctx.print(JSON.stringify(result, null, 2));
      if (result.interrupted) ctx.signal.throwIfAborted();
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
  const quiet = json ? withoutConsole(config) : config;
  return command.run(quiet, { stream: streamOf(ctx), signal: ctx.signal, directory: ctx.cwd, facts });
}

/** The console tracker writes to stdout, which then belongs to the JSON. */
function withoutConsole<C extends LoadedConfig["config"]>(config: C): C {
  const logger = config.trainer.logger.filter((key) => key !== "console");
  return { ...config, trainer: { ...config.trainer, logger } };
}

function lastCheckpoint(directory: string): string {
  const path = pointedCheckpoint(directory);
  return path
    ? `The last checkpoint is ${path}; run the same command again to go on from there.`
    : "No checkpoint was written, so the same command starts from the beginning.";
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

function tellNotes({ notes, schema }: LoadedConfig, ctx: CliContext): void {
  for (const { message } of notes.slice(0, SHOWN_NOTES)) ctx.logger.info(`Note: ${message}`);
  const more = notes.length - SHOWN_NOTES;
  if (more > 0)
    ctx.logger.info(
      `Note: ${counted(more, "more remark")} about the config; \`verl config explain${schema === "sft" ? " --sft" : ""}\` shows them all.`,
    );
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
