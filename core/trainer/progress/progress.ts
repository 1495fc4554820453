import { headlines } from "../metrics/headlines.ts";
import { liveLine, median, plainLine, type ProgressState } from "./progress-line.ts";

/** The part of a writable stream that progress needs; `process.stderr` is one. */
export interface ProgressStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  on?(event: "error", listener: () => void): unknown;
}

export interface ProgressOptions {
  /** Steps of the whole run. */
  total: number;
  /** Steps done before, by the checkpoint that the run resumes from. */
  start?: number;
  /** Default: stderr. */
  stream?: ProgressStream;
  /** Default: the process's. `CI` and `TERM=dumb` turn the live line off, `NO_COLOR` its colours. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Milliseconds; for tests. */
  now?: () => number;
}

/** Steps whose median time gives the time left. */
const WINDOW = 20;
/** Milliseconds between redraws of the live line, and between plain lines. */
const REDRAW = 100;
const PLAIN_INTERVAL = 20_000;
const CLEAR_LINE = "\r\x1b[2K";

/**
 * Shows how far a run is: one live line on a terminal, else a plain line every twenty seconds and at the last step. Nothing is written
 * once the reader of the stream has gone.
 */
export class Progress {
  readonly #stream: ProgressStream;
  readonly #live: boolean;
  readonly #color: boolean;
  readonly #now: () => number;
  readonly #state: ProgressState;
  readonly #stepTimes: number[] = [];
  readonly #ticker: NodeJS.Timeout | undefined;
  #broken = false;
  #stepStart: number;
  #lastWrite: number;

  constructor({
    total,
    start = 0,
    stream = process.stderr,
    env = process.env,
    now = () => performance.now(),
  }: ProgressOptions) {
    this.#stream = stream;
    this.#now = now;
    this.#live = Boolean(stream.isTTY) && !env["CI"] && env["TERM"] !== "dumb";
    this.#color = !env["NO_COLOR"];
    this.#state = {
      step: start,
      total,
      phase: "",
      phaseDone: 0,
      phaseTotal: 0,
      etaSeconds: undefined,
      headlines: new Map(),
    };
    this.#stepStart = now();
    this.#lastWrite = this.#live ? -Infinity : now();
    // Stays for good: what others write to the same stream afterwards must not end the process either.
    stream.on?.("error", () => (this.#broken = true));
    if (this.#live) this.#ticker = setInterval(() => this.#draw(), 1000).unref();
    this.#draw();
  }

  /**
   * Names what is being done now.
   * @param parts how many parts it has, where they can be counted. @returns call it with the number of parts done.
   */
  phase(name: string, parts = 0): (done: number) => void {
    Object.assign(this.#state, { phase: name, phaseDone: 0, phaseTotal: parts });
    this.#refresh();
    return (done) => {
      if (this.#state.phase !== name) return;
      this.#state.phaseDone = done;
      this.#refresh();
    };
  }

  /** A step is done; its metrics replace the numbers shown. Those that it lacks (validation, say) stay. */
  stepDone(step: number, metrics: Readonly<Record<string, number>>): void {
    const now = this.#now();
    this.#stepTimes.push((now - this.#stepStart) / 1000);
    if (this.#stepTimes.length > WINDOW) this.#stepTimes.shift();
    this.#stepStart = now;
    Object.assign(this.#state, { step, phase: "", phaseDone: 0, phaseTotal: 0 });
    this.show(metrics);
    if (!this.#live && step >= this.#state.total) this.#plain();
  }

  /** So many parts of a work without steps are done; the time left follows from all of them. */
  advance(done: number): void {
    const elapsed = (this.#now() - this.#stepStart) / 1000;
    const left = this.#state.total - done;
    Object.assign(this.#state, { step: done, etaSeconds: done > 0 ? (elapsed / done) * left : undefined });
    this.#refresh();
    if (!this.#live && left <= 0) this.#plain();
  }

  /** Shows numbers that came outside a step, such as those of the first validation. */
  show(metrics: Readonly<Record<string, number>>): void {
    this.#state.headlines = new Map([...this.#state.headlines, ...headlines(metrics)]);
    this.#refresh();
  }

  /** Writes a line that stays, above the live one. */
  note(line: string): void {
    this.#write(this.#live ? `${CLEAR_LINE}${line}\n` : `${line}\n`);
    this.#draw();
  }

  /** Ends the live line; what is written afterwards begins on a line of its own. */
  close(): void {
    clearInterval(this.#ticker);
    if (this.#live) {
      this.#draw();
      this.#write("\n");
    }
  }

  #refresh(): void {
    const since = this.#now() - this.#lastWrite;
    if (this.#live && since >= REDRAW) this.#draw();
    if (!this.#live && since >= PLAIN_INTERVAL) this.#plain();
  }

  #draw(): void {
    if (!this.#live) return;
    this.#lastWrite = this.#now();
    const style = { columns: this.#stream.columns ?? 80, color: this.#color };
    this.#write(CLEAR_LINE + liveLine(this.#timed(), style));
  }

  #plain(): void {
    this.#lastWrite = this.#now();
    this.#write(`${plainLine(this.#timed())}\n`);
  }

  /** The state with the time left as of now. */
  #timed(): ProgressState {
    const left = this.#state.total - this.#state.step;
    if (this.#stepTimes.length === 0 || left <= 0) return this.#state;
    const elapsed = (this.#now() - this.#stepStart) / 1000;
    return { ...this.#state, etaSeconds: Math.max(0, left * median(this.#stepTimes) - elapsed) };
  }

  #write(text: string): void {
    if (!this.#broken) this.#stream.write(text);
  }
}
