import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync, readSync } from "node:fs";
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

  constructor(readonly path: string) {}

  /**
   * Appends one line a value. JSON has no NaN and no infinities: they become null.
   * @throws VERL_TRAIN_DIRECTORY where the disk refuses, for example because it is full.
   */
  append(values: Iterable<unknown>): void {
    const text = Array.from(values, (value) => `${JSON.stringify(value)}\n`).join("");
    if (text === "") return;
    try {
      appendFileSync(this.path, this.#open() + text);
    } catch (cause) {
      throw new VerlError("VERL_TRAIN_DIRECTORY", `${this.path} cannot be written: ${(cause as Error).message}.`, {
        location: { file: this.path },
        hint: "Free space there or name another directory; the same command goes on from the last checkpoint.",
        cause,
      });
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

/** NaN, which no step is below, where a line tells none. */
function stepOf(line: string): number {
  try {
    const { step } = JSON.parse(line) as { step?: unknown };
    return typeof step === "number" ? step : NaN;
  } catch {
    return NaN;
  }
}
