import { counted, VerlError } from "../errors/index.ts";
import type { Logger } from "../registry/index.ts";
import { JsonLinesFile } from "../trainer/rollout-log/index.ts";

/** Where `verl gateway` writes what it captures. What the disk refuses is kept in memory, and tried again with what comes next. */
export class CaptureFile {
  /** Trajectories that are in the file. */
  written = 0;
  readonly #file: JsonLinesFile;
  #waiting: object[] = [];
  #refused: VerlError | undefined;

  constructor(
    readonly path: string,
    private readonly log: Logger,
  ) {
    this.#file = new JsonLinesFile(path, refusal);
  }

  /** Makes the file. @throws VerlError VERL_CLI_FILE where it cannot be written to */
  open(): void {
    this.#file.open();
  }

  /** Writes trajectories, and those that were refused before. */
  add(rows: readonly object[]): void {
    for (const row of rows) this.#waiting.push(row);
    try {
      this.#file.append(this.#waiting);
    } catch (error) {
      if (this.#refused === undefined)
        this.log.warn(`${(error as Error).message} What is captured is kept in memory, and tried again.`);
      this.#refused = error as VerlError;
      return;
    }
    if (this.#refused !== undefined && this.#waiting.length > 0) {
      this.log.info(`${this.path} can be written again.`);
      this.#refused = undefined;
    }
    this.written += this.#waiting.length;
    this.#waiting = [];
  }

  /** @throws VerlError VERL_CLI_WRITE where something is left that could not be written */
  close(): void {
    const lost = this.#waiting.length;
    if (lost === 0) return;
    throw new VerlError(
      "VERL_CLI_WRITE",
      `${counted(lost, "trajectory", "trajectories")} could not be written, and ${lost === 1 ? "is" : "are"} lost. ${this.#refused!.message}`,
      {
        location: { file: this.path },
        hint: `Free space there, or name another file (--out). ${counted(this.written, "trajectory", "trajectories")} written before stay.`,
        cause: this.#refused,
      },
    );
  }
}

const refusal = (path: string, cause: Error): VerlError =>
  new VerlError("VERL_CLI_FILE", `The file ${path} cannot be written: ${cause.message}.`, {
    location: { file: path },
    cause,
    hint: "Name another one (--out).",
  });
