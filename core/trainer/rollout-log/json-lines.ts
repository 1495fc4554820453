import { appendFileSync, closeSync, fstatSync, mkdirSync, openSync, readSync } from "node:fs";
import { dirname } from "node:path";

/**
 * A file of one JSON value a line, appended to line by line and never buffered, so that a kill loses at most the line being written.
 * A half line that a kill left is closed off first.
 */
export class JsonLinesFile {
  #opened = false;

  constructor(readonly path: string) {}

  /** Appends one line a value. JSON has no NaN and no infinities: they become null. */
  append(values: Iterable<unknown>): void {
    const text = Array.from(values, (value) => `${JSON.stringify(value)}\n`).join("");
    if (text === "") return;
    appendFileSync(this.path, this.#open() + text);
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
