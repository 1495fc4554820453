import { Command, CommanderError, type Option } from "commander";
import { exitCodeOf, formatError } from "../errors/format-error.ts";
import { VERSION } from "../registry/version.ts";
import { isAbort } from "../errors/is-abort.ts";
import { INTERRUPTED, type CliContext } from "./command.ts";
import { COMMANDS, type CommandRow } from "./commands.ts";

const EXIT_CODES =
  "Exit codes: 0 done; 1 the work failed (training, a reward, a corrupt checkpoint, a full disk); 2 wrong usage, config, plugin or data,\nand nothing was begun; 130 interrupted.";

/**
 * Runs one command line, without the leading `node verl`, and returns the exit code, by {@link EXIT_CODES}: 130 when it gave up because it
 * was asked to stop. A command that returns has done its work, asked to stop or not.
 */
export async function runCli(argv: readonly string[], ctx: CliContext, commands = COMMANDS): Promise<number> {
  try {
    const { program, words } = await buildProgram(argv, ctx, commands);
    if (argv.length === 0) program.outputHelp();
    else await program.parseAsync(words, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2; // Commander has told what is wrong.
    if (ctx.signal.aborted && isAbort(error)) return INTERRUPTED;
    ctx.status(`${formatError(error, { color: ctx.color })}\n`);
    return exitCodeOf(error);
  }
}

/** Methods of Commander's commands that its types leave out. */
interface Refusals {
  unknownOption(flag: string): void;
  missingMandatoryOptionValue(option: Option): void;
}

const Commander = Command as unknown as new (name?: string) => Command & Refusals;

/** Where a required option is missing and another is unknown, that one is a slip of the pen; Commander would tell of the missing one alone. */
class VerlCommand extends Commander {
  override createCommand(name?: string): Command {
    return new VerlCommand(name);
  }

  override missingMandatoryOptionValue(option: Option): void {
    const unknown = this.args.find((word) => word.startsWith("-"));
    if (unknown !== undefined) this.unknownOption(unknown);
    super.missingMandatoryOptionValue(option);
  }
}

async function buildProgram(
  argv: readonly string[],
  ctx: CliContext,
  commands: readonly CommandRow[],
): Promise<{ program: Command; words: readonly string[] }> {
  const program = new VerlCommand("verl")
    .description("Reinforcement-learning post-training of language models.")
    .version(VERSION, "-V, --version")
    .configureOutput({ writeOut: (text) => ctx.print(text.trimEnd()), writeErr: (text) => ctx.status(text) })
    .configureHelp({ sortSubcommands: true })
    .showHelpAfterError("Run `verl --help` or `verl <command> --help` for what there is.")
    .addHelpText("afterAll", `\n${EXIT_CODES}`)
    .hook("preAction", (_, command) => {
      if (command.opts<{ json?: boolean }>().json) ctx.reserveStdout();
    })
    .exitOverride();
  const at = argv.findIndex((argument) => !argument.startsWith("-") && argument !== "help");
  let words = argv;
  for (const { name, summary, load } of commands) {
    const subcommand = program.command(name).description(summary);
    if (name !== argv[at]) continue;
    const { command } = await load();
    command.configure(subcommand, ctx);
    if (command.rewrite) words = [...argv.slice(0, at + 1), ...command.rewrite(argv.slice(at + 1), ctx)];
  }
  return { program, words };
}
