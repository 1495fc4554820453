import { join } from "node:path";
import { CONFIG, inject, JsonLinesFile, type Tracker } from "verl";
import type { RunPlace } from "./run-place.ts";

/**
 * JSON lines `{ "step": …, "data": { … } }` in `<run dir>/metrics.jsonl`, and in the file that verl's environment variables name:
 * `VERL_FILE_LOGGER_PATH`, or `<VERL_FILE_LOGGER_ROOT>/<project>/<experiment>.jsonl`. A resumed run goes on in the
 * same file, behind the step that it resumes from. A metric that is not finite is null, as in verl's file, so that whoever reads the
 * column gets numbers or none; the run warns of it by name.
 */
export class FileTracker implements Tracker {
  readonly #files: readonly JsonLinesFile[];

  constructor(@inject(CONFIG) { trainer }: RunPlace) {
    const paths = new Set([join(trainer.default_local_dir, "metrics.jsonl")]);
    const { VERL_FILE_LOGGER_PATH: path, VERL_FILE_LOGGER_ROOT: root } = process.env;
    if (path) paths.add(path);
    else if (root) paths.add(join(root, trainer.project_name, `${trainer.experiment_name}.jsonl`));
    this.#files = [...paths].map((name) => new JsonLinesFile(name));
  }

  async resume(step: number): Promise<void> {
    for (const file of this.#files) await file.dropAfter(step);
  }

  log(data: Readonly<Record<string, number>>, step: number): void {
    for (const file of this.#files) file.append([{ step, data }]);
  }
}
