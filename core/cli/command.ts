import type { Command } from "commander";
import type { Logger } from "../registry/index.ts";

/** Exit code after Ctrl-C, as shells expect it. */
export const INTERRUPTED = 130;

/** What a command may use of the process it runs in; tests hand in their own. */
export interface CliContext {
  /** Writes a line to stdout: what was asked for, and nothing else. */
  print(text: string): void;
  /** From now on stdout has what `print` writes and nothing else; what the user's code prints goes to stderr. */
  reserveStdout(): void;
  /** Everything else goes to stderr. */
  readonly logger: Logger;
  /** Writes to stderr as it is, for progress bars. */
  status(text: string): void;
  /** Aborts at the first Ctrl-C or SIGTERM: finish or abandon cleanly. The second ends the process at once. */
  readonly signal: AbortSignal;
  /**
   * Runs a long work, which goes on when nobody reads stdout any more. What ends the process meanwhile, an error that nobody
   * caught or `process.exit` in the user's code, ends it with the exit code 1 and in words. An agent's function is contained: its
   * errors of that kind end nothing.
   * @param lastWords says what is left, should the process end.
   */
  run<T>(work: () => Promise<T>, lastWords: () => string): Promise<T>;
  /** Directory that relative paths on the command line start from. */
  readonly cwd: string;
  /** True when stderr is a terminal that may be redrawn. */
  readonly interactive: boolean;
  /** True when stdout may be coloured: a terminal, and `NO_COLOR` is not set. */
  readonly color: boolean;
}

/**
 * One subcommand, the export `command` of its own file, which is imported only when it is called. Name and summary stand in
 * `commands.ts`.
 *
 *     export const command: CliCommand = {
 *       configure(self, ctx) {
 *         self.argument("[kind]").option("--json", "…").action(async (kind, options) => { … });
 *       },
 *     };
 */
export interface CliCommand {
  /** Adds arguments, options, subcommands of its own and the action. Errors are thrown; the exit code follows from their code. */
  configure(self: Command, ctx: CliContext): void;
  /** Rewrites the words after the command's name before they are read, and may tell of it. */
  rewrite?(words: readonly string[], ctx: CliContext): readonly string[];
}
