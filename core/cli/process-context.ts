import { createLogger } from "../registry/logger.ts";
import type { CliContext } from "./command.ts";

const INTERRUPTED = 130;

/** The real process: stdout, stderr, signals. */
export function processContext(): CliContext {
  const { stdout, stderr, env } = process;
  // A reader that has seen enough (`verl list | head`) is no error.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(0);
    stderr.write(`The output could not be written: ${error.message}\n`);
    process.exit(1);
  });
  // Nobody reads the progress any more (`verl train 2>&1 | head`): the run goes on all the same.
  stderr.on("error", () => undefined);
  return {
    print: (text) => void stdout.write(`${text}\n`),
    status: (text) => void stderr.write(text),
    logger: createLogger({ level: env["VERL_LOG_LEVEL"] === "debug" ? "debug" : "info" }),
    signal: stopSignal(),
    cwd: process.cwd(),
    interactive: stderr.isTTY === true && env["TERM"] !== "dumb" && !env["CI"],
    color: stdout.isTTY === true && !env["NO_COLOR"],
  };
}

/** The first Ctrl-C asks the command to end; the second ends the process. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(INTERRUPTED);
    process.stderr.write("\nStopping; press Ctrl-C again to end at once.\n");
    controller.abort();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return controller.signal;
}
