import { createLogger } from "../registry/logger.ts";
import { reserveStdout } from "../registry/reserved-stdout.ts";
import { INTERRUPTED, type CliContext } from "./command.ts";
import { RunGuard } from "./run-guard.ts";

/** The real process: stdout, stderr, signals. */
export function processContext(): CliContext {
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
  return {
    print: (text) => void write(`${text}\n`),
    reserveStdout,
    status: (text) => void stderr.write(text),
    logger: createLogger({ level: env["VERL_LOG_LEVEL"] === "debug" ? "debug" : "info" }),
    signal: stopSignal(guard),
    run: (work, lastWords) => guard.run(work, lastWords),
    cwd: process.cwd(),
    interactive: stderr.isTTY === true && env["TERM"] !== "dumb" && !env["CI"],
    color: stdout.isTTY === true && !env["NO_COLOR"],
  };
}

/** The first Ctrl-C asks the command to end; the second ends the process. */
function stopSignal(guard: RunGuard): AbortSignal {
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
  return controller.signal;
}
