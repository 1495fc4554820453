import type { SftConfig } from "../config/index.ts";
import { fitWithRestarts, type RestartPoint } from "./restarts.ts";
import type { TrainerOptions } from "./run-options.ts";
import type { FitResult } from "./run-record.ts";
import { SftAttempt } from "./sft-attempt.ts";
import { createSftRun } from "./sft-run.ts";

/** Supervised fine-tuning: imitates the assistant's side of conversations. */
export class SftTrainer {
  private constructor(private readonly train: () => Promise<FitResult>) {}

  /** Reads and checks everything that the run needs. Plugins are loaded and the config is validated before. */
  static async create(config: SftConfig, options: TrainerOptions = {}): Promise<SftTrainer> {
    const open = async (point?: RestartPoint) => new SftAttempt(await createSftRun(config, options, point));
    const first = await open();
    return new SftTrainer(() => fitWithRestarts(first, config.trainer.max_restarts, open, options));
  }

  /** Trains to the last step or until asked to stop, and writes the model folder at the end. */
  fit(): Promise<FitResult> {
    return this.train();
  }
}
