import { writeSync } from "node:fs";
import { tellStrayError } from "../errors/stray-errors.ts";
import { formatError } from "../errors/format-error.ts";

/**
 * Watches over long works: while one is under way, what would end the process in silence ends it in words. An error that nobody caught
 * ends it too, but for one of an agent's function, which costs its sample at most.
 */
export class RunGuard {
  #lastWords: (() => string) | undefined;
  #begun = false;

  /** True while a work is under way. */
  get running(): boolean {
    return this.#lastWords !== undefined;
  }

  /** True once a work is or was under way, whose code may have left timers and promises behind. */
  get begun(): boolean {
    return this.#begun;
  }

  async run<T>(work: () => Promise<T>, lastWords: () => string): Promise<T> {
    this.#lastWords = lastWords;
    if (!this.#begun) process.on("uncaughtExceptionMonitor", this.#late);
    this.#begun = true;
    for (const [event, listener] of this.#listeners) process.on(event, listener);
    try {
      return await work();
    } finally {
      this.leave();
    }
  }

  /** Watches no longer: the work is done, or the user ends it. */
  leave(): void {
    this.#lastWords = undefined;
    for (const [event, listener] of this.#listeners) process.off(event, listener);
  }

  readonly #stray = (error: unknown): void => {
    if (tellStrayError(error)) return;
    this.#tell(
      `An error that nobody caught ended the run; code outside of its steps threw it, a timer or a promise.\n${formatError(error)}`,
    );
    this.leave();
    process.exit(1);
  };

  /** What contained code left to itself ends no finished work either; Node looks for a handler of the error after this one. */
  readonly #late = (error: unknown): void => {
    if (!this.running && tellStrayError(error)) process.once("uncaughtException", () => undefined);
  };

  /** Nothing is left that could go on, although the work has not ended. */
  readonly #drained = (): void => {
    this.#tell("The run ended before its last step: it waits for a promise that nothing is left to settle.");
    this.leave();
    process.exit(1);
  };

  readonly #exit = (code: unknown): void => {
    this.#tell(`The run ended before its last step: code in this process called process.exit(${String(code)}).`);
    process.exitCode = 1;
  };

  readonly #listeners: readonly (readonly [string, (detail: unknown) => void])[] = [
    ["uncaughtException", this.#stray],
    ["unhandledRejection", this.#stray],
    ["beforeExit", this.#drained],
    ["exit", this.#exit],
  ];

  /** Written at once: a stream may not get to it any more. */
  #tell(text: string): void {
    try {
      writeSync(process.stderr.fd, `\n${text}\n${this.#lastWords?.() ?? ""}\n`);
    } catch {
      // Nobody reads stderr.
    }
  }
}
