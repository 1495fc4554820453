import { appendFileSync, mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { CONFIG, inject, type Tracker } from "verl";
import type { RunPlace } from "./run-place.ts";
import { scalarsEvent, startEvent, tfRecord, versionEvent } from "./tensorboard-events.ts";

/** Scalars as TensorBoard event files in `TENSORBOARD_DIR` or `<run dir>/tensorboard`, one file a process. */
export class TensorBoardTracker implements Tracker {
  readonly #directory: string;
  #path: string | undefined;

  constructor(@inject(CONFIG) { trainer }: RunPlace) {
    this.#directory = process.env["TENSORBOARD_DIR"] || join(trainer.default_local_dir, "tensorboard");
  }

  log(metrics: Readonly<Record<string, number>>, step: number): void {
    const seconds = Date.now() / 1000;
    this.#path ??= this.#begin(seconds, step);
    appendFileSync(this.#path, tfRecord(scalarsEvent(seconds, step, metrics)));
  }

  #begin(seconds: number, step: number): string {
    mkdirSync(this.#directory, { recursive: true });
    const path = join(this.#directory, `events.out.tfevents.${Math.floor(seconds)}.${hostname()}.${process.pid}.0`);
    appendFileSync(path, Buffer.concat([tfRecord(versionEvent(seconds)), tfRecord(startEvent(seconds, step))]));
    return path;
  }
}
