import { createLogger } from "../registry/logger.ts";
import { reserveStdout } from "../registry/reserved-stdout.ts";
import { INTERRUPTED, type CliContext } from "./command.ts";
import { RunGuard } from "./run-guard.ts";

/** What a command may use, and the end of the process after it. */
export interface ProcessContext extends CliContext {
  /**
   * Says that the command is done: a signal ends the process at once from now on. Where it ran the user's code, what that left open (a timer,
   * a socket) keeps the process no longer than its output takes.
   */
  end(exitCode: number): Promise<void>;
}

/** The real process: stdout, stderr, signals. */
export function processContext(): ProcessContext {
  const { stdout, stderr, env } = process;
  const guard = new RunGuard();
  const write = stdout.write.bind(stdout);
  let broken = false;
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    const told = broken;
    broken = true;
    if (guard.running) {
      if (!told)
        stderr.write(
          `\nNobody takes the output any more (${error.code ?? error.message}); the run goes on without it.\n`,
        );
    } else if (!told && error.code !== "EPIPE") {
      stderr.write(`The output could not be written: ${error.message}\n`);
      process.exit(1);
    } else {
      // A reader that has seen enough (`verl list | head`) is no error.
      process.exit();
    }
  });
  // Nobody reads the progress any more (`verl train 2>&1 | head`): the run goes on all the same.
  stderr.on("error", () => undefined);
  const stop = stopSignal(guard);
  return {
    print: (text) => void write(`${text}\n`),
    reserveStdout,
    status: (text) => void stderr.write(text),
    logger: createLogger({ level: env["VERL_LOG_LEVEL"] === "debug" ? "debug" : "info" }),
    signal: stop.signal,
    run: (work, lastWords) => guard.run(work, lastWords),
    end: async (exitCode) => {
      process.exitCode = exitCode;
      stop.ignore();
      if (!guard.begun) return;
      await Promise.all([written((told) => write("", told)), written((told) => stderr.write("", told))]);
      process.exit();
    },
    cwd: process.cwd(),
    interactive: stderr.isTTY === true && env["TERM"] !== "dumb" && !env["CI"],
    color: stdout.isTTY === true && !env["NO_COLOR"],
  };
}

/** Resolves when a stream has taken what it was given before, or takes nothing any more. */
const written = (last: (told: () => void) => unknown): Promise<void> => new Promise((resolve) => void last(resolve));

/** The first Ctrl-C asks the command to end; the second ends the process. So does any that comes once they are ignored. */
function stopSignal(guard: RunGuard): { readonly signal: AbortSignal; ignore(): void } {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) {
      guard.leave();
      process.exit(INTERRUPTED);
    }
    process.stderr.write("\nStopping; press Ctrl-C again to end at once.\n");
    controller.abort();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return {
    signal: controller.signal,
    ignore() {
      process.off("SIGINT", stop);
      process.off("SIGTERM", stop);
    },
  };
}
