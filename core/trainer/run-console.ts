import { createLogger, type Logger, type LoggerOptions } from "../registry/index.ts";
import { Progress, type ProgressStream } from "./progress/index.ts";

export interface RunConsoleOptions {
  /** Default: stderr. */
  stream?: ProgressStream;
  /** Lowest level of log lines. Default: `info`. */
  level?: LoggerOptions["level"];
}

/** Log lines and the progress line of a run, on one stream, so that neither breaks the other. */
export class RunConsole {
  readonly logger: Logger;
  private readonly stream: ProgressStream;
  private progress: Progress | undefined;

  constructor({ stream = process.stderr, level }: RunConsoleOptions = {}) {
    this.stream = stream;
    this.logger = createLogger({ level, write: (line) => this.note(line) });
  }

  /** Writes a line that stays. */
  note(line: string): void {
    if (this.progress) this.progress.note(line);
    else this.stream.write(`${line}\n`);
  }

  /** Shows how far a work before the first step is. @returns call it with the parts done, and of how many. */
  work(name: string): (done: number, total: number) => void {
    return (done, total) => {
      if (this.progress === undefined) {
        this.progress = new Progress({ total, stream: this.stream });
        this.progress.phase(name);
      }
      this.progress.advance(done);
      if (done >= total) this.end();
    };
  }

  /** Shows progress from now on. @param start steps done before. */
  begin(total: number, start: number): void {
    this.progress = new Progress({ total, start, stream: this.stream });
  }

  phase(name: string): void {
    this.progress?.phase(name);
  }

  /** Numbers that came outside a step. */
  show(metrics: Readonly<Record<string, number>>): void {
    this.progress?.show(metrics);
  }

  stepDone(step: number, metrics: Readonly<Record<string, number>>): void {
    this.progress?.stepDone(step, metrics);
  }

  end(): void {
    this.progress?.close();
    this.progress = undefined;
  }
}
