import { writeSync } from "node:fs";
import { formatError } from "../errors/format-error.ts";

/** Exit code of Node when nothing is left to wait for although the program still waits. */
const NEVER_SETTLED = 13;

/** Watches over long works: while one is under way, what would end the process in silence ends it in words. */
export class RunGuard {
  #lastWords: (() => string) | undefined;

  /** True while a work is under way. */
  get running(): boolean {
    return this.#lastWords !== undefined;
  }

  async run<T>(work: () => Promise<T>, lastWords: () => string): Promise<T> {
    this.#lastWords = lastWords;
    process.on("uncaughtException", this.#stray).on("unhandledRejection", this.#stray).on("exit", this.#exit);
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Watches no longer: the work is done, or the user ends it. */
  leave(): void {
    this.#lastWords = undefined;
    process.off("uncaughtException", this.#stray).off("unhandledRejection", this.#stray).off("exit", this.#exit);
  }

  readonly #stray = (error: unknown): void => {
    this.#tell(
      `An error that nobody caught ended the run; code outside of its steps threw it, a timer or a promise.\n${formatError(error)}`,
    );
    this.leave();
    process.exit(1);
  };

  readonly #exit = (code: number): void => {
    this.#tell(
      code === NEVER_SETTLED
        ? "The run ended before its last step: it waits for a promise that nothing is left to settle."
        : `The run ended before its last step: code in this process called process.exit(${code}).`,
    );
    if (code === 0) process.exitCode = 1;
  };

  /** Written at once: a stream may not get to it any more. */
  #tell(text: string): void {
    try {
      writeSync(process.stderr.fd, `\n${text}\n${this.#lastWords?.() ?? ""}\n`);
    } catch {
      // Nobody reads stderr.
    }
  }
}
