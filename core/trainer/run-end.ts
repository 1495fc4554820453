/** The end of a run in one thread: what hears of it, and what is open until then. */
export class RunEnd {
  readonly #controller = new AbortController();
  readonly #open: (() => Promise<void>)[] = [];
  #closed: Promise<void> | undefined;

  /** Aborted at the run's end, whatever ended it; this is what plugins are given. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Has something closed at the end. @param close never fails, and ends by itself */
  add(close: () => Promise<void>): void {
    this.#open.push(close);
  }

  /** Ends the run; again: nothing more. @returns when all is closed */
  end(reason?: unknown): Promise<void> {
    return (this.#closed ??= this.#end(reason));
  }

  async #end(reason: unknown): Promise<void> {
    this.#controller.abort(reason);
    await Promise.all(this.#open.map((close) => close()));
  }
}
