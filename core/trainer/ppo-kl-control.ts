import type { PpoConfig } from "../config/index.ts";

/** Weight of the KL penalty in the reward: fixed, or steered so that the KL stays near a target. */
export class KlControl {
  constructor(
    private readonly config: PpoConfig["algorithm"]["kl_ctrl"],
    /** The weight of the next step. */
    public value: number = config.kl_coef,
  ) {}

  /** The adaptive controller of "Fine-Tuning Language Models from Human Preferences" (arXiv:1909.08593), section 2.2. */
  update(kl: number, samples: number): void {
    if (this.config.type !== "adaptive") return;
    const error = Math.min(Math.max(kl / this.config.target_kl - 1, -0.2), 0.2);
    this.value *= 1 + (error * samples) / this.config.horizon;
  }
}
