import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DataProto } from "../../batch/data-proto.ts";
import type { Tokenizer } from "../../data/tokenizer.ts";
import { JsonLinesFile } from "./json-lines.ts";
import { pickGroups, pickValidation, rolloutRows, type RolloutContext } from "./rollout-rows.ts";

export const ROLLOUTS_FILE = "rollouts.jsonl";

/** Rows a step that `rollouts.jsonl` takes. */
const DEFAULT_PER_STEP = 8;

export interface RolloutLogOptions {
  /** `trainer.default_local_dir`: `rollouts.jsonl` lies there, with a few rows of every step. */
  runDir: string;
  tokenizer: Pick<Tokenizer, "decode">;
  /** `trainer.rollout_data_dir`: where all rows of each step go, to `<step>.jsonl`; null: nowhere. */
  rolloutDataDir?: string | null;
  /** `trainer.validation_data_dir`: the same for validation. */
  validationDataDir?: string | null;
  /** Rows a step, and a validation, in `rollouts.jsonl`. Default: 8. */
  perStep?: number;
}

/** Writes what was sampled: a few rows a step to `<run dir>/rollouts.jsonl`, and all of them to verl's data directories where those are set. */
export class RolloutLog {
  readonly #options: RolloutLogOptions;
  readonly #perStep: number;
  readonly #file: JsonLinesFile;

  constructor(options: RolloutLogOptions) {
    this.#options = options;
    this.#perStep = options.perStep ?? DEFAULT_PER_STEP;
    this.#file = new JsonLinesFile(join(options.runDir, ROLLOUTS_FILE));
  }

  /** Logs a training step: whole groups, as many as fit. @param parts reward parts, one value a row. */
  async train(batch: DataProto, step: number, parts?: RolloutContext["parts"]): Promise<void> {
    const context = { step, split: "train", tokenizer: this.#options.tokenizer, parts } as const;
    this.#file.append(rolloutRows(batch, pickGroups(batch, this.#perStep), context));
    await writeAll(this.#options.rolloutDataDir, batch, context);
  }

  /** Logs a validation: the same prompts each time. */
  async validation(batch: DataProto, step: number, parts?: RolloutContext["parts"]): Promise<void> {
    const context = { step, split: "val", tokenizer: this.#options.tokenizer, parts } as const;
    this.#file.append(rolloutRows(batch, pickValidation(batch, this.#perStep, context.tokenizer), context));
    await writeAll(this.#options.validationDataDir, batch, context);
  }
}

async function writeAll(
  directory: string | null | undefined,
  batch: DataProto,
  context: RolloutContext,
): Promise<void> {
  if (!directory) return;
  await mkdir(directory, { recursive: true });
  const path = join(directory, `${context.step}.jsonl`);
  await rm(path, { force: true });
  new JsonLinesFile(path).append(rolloutRows(batch, batch.validRows(), context));
}
