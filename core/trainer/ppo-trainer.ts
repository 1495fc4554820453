import type { PpoConfig } from "../config/index.ts";
import { PpoAttempt } from "./ppo-attempt.ts";
import { createPpoRun } from "./ppo-run.ts";
import { fitWithRestarts, type RestartPoint } from "./restarts.ts";
import type { TrainerOptions } from "./run-options.ts";
import type { FitResult } from "./run-record.ts";

/** Trains a policy by reinforcement learning, in verl's order of steps: the single controller of its worker groups. */
export class PpoTrainer {
  private constructor(private readonly train: () => Promise<FitResult>) {}

  /** Reads and checks everything that the run needs. Plugins are loaded and the config is validated before. */
  static async create(config: PpoConfig, options: TrainerOptions = {}): Promise<PpoTrainer> {
    const open = async (point?: RestartPoint) => new PpoAttempt(await createPpoRun(config, options, point));
    const first = await open();
    return new PpoTrainer(() => fitWithRestarts(first, config.trainer.max_restarts, open, options));
  }

  /** Trains to the last step or until asked to stop. */
  fit(): Promise<FitResult> {
    return this.train();
  }
}
