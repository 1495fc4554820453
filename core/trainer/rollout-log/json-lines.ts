import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync, readSync, statSync, truncateSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { createInterface } from "node:readline";
import { VerlError } from "../../errors/index.ts";

/**
 * A file of one JSON value a line, appended to line by line and never buffered, so that a kill loses at most the line being written.
 * A half line that a kill left is closed off first.
 */
export class JsonLinesFile {
  #opened = false;

  /** @param failed makes the error of a write that the system refuses. Default: `VERL_TRAIN_DIRECTORY`. */
  constructor(
    readonly path: string,
    private readonly failed: (path: string, cause: Error) => VerlError = ofTheRun,
  ) {}

  /** Makes the file, with its folder, where it is not there. @throws where it cannot be written to, as `append` does */
  open(): void {
    try {
      this.#open();
    } catch (cause) {
      throw this.failed(this.path, cause as Error);
    }
  }

  /**
   * Appends one line a value; all of them or none. JSON has no NaN and no infinities: they become null.
   * @throws VERL_TRAIN_DIRECTORY where the disk refuses, for example because it is full.
   */
  append(values: Iterable<unknown>): void {
    const text = Array.from(values, (value) => `${JSON.stringify(value)}\n`).join("");
    if (text === "") return;
    let before: number | undefined;
    try {
      const start = this.#open();
      before = statSync(this.path).size;
      appendFileSync(this.path, start + text);
    } catch (cause) {
      this.#takeBack(before);
      throw this.failed(this.path, cause as Error);
    }
  }

  /** A disk that is full takes a part. */
  #takeBack(size: number | undefined): void {
    this.#opened = false;
    try {
      if (size !== undefined) truncateSync(this.path, size);
    } catch {
      // A half line is closed off when the file is opened again.
    }
  }

  /**
   * Takes out the lines of steps after `step`, for a run that goes on from there: each line is an object with a number `step`. Half
   * lines go too. A reader sees the old file or the new.
   */
  async dropAfter(step: number): Promise<void> {
    const temporary = `${this.path}.${process.pid}.tmp`;
    const source = await open(this.path, "r").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw error;
    });
    if (!source) return;
    const target = await open(temporary, "w");
    try {
      for await (const line of createInterface({ input: source.createReadStream(), crlfDelay: Infinity })) {
        if (stepOf(line) <= step) await target.write(`${line}\n`);
      }
      await target.sync();
    } finally {
      await target.close();
      await source.close();
    }
    await rename(temporary, this.path);
  }

  /** @returns what must come before the first line: nothing, or the newline that the file's end lacks. */
  #open(): string {
    if (this.#opened) return "";
    mkdirSync(dirname(this.path), { recursive: true });
    const file = openSync(this.path, "a+");
    try {
      const last = Buffer.alloc(1);
      const { size } = fstatSync(file);
      if (size > 0) readSync(file, last, 0, 1, size - 1);
      this.#opened = true;
      return size > 0 && last.toString() !== "\n" ? "\n" : "";
    } finally {
      closeSync(file);
    }
  }
}

const ofTheRun = (path: string, cause: Error): VerlError =>
  new VerlError("VERL_TRAIN_DIRECTORY", `${path} cannot be written: ${cause.message}.`, {
    location: { file: path },
    hint: "Free space there or name another directory; the same command goes on from the last checkpoint.",
    cause,
  });

/** NaN, which no step is below, where a line tells none. */
function stepOf(line: string): number {
  try {
    const { step } = JSON.parse(line) as { step?: unknown };
    return typeof step === "number" ? step : NaN;
  } catch {
    return NaN;
  }
}
