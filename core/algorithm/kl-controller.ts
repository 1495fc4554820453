/** The `algorithm.kl_ctrl` section of the config. */
export interface KlControllerConfig {
  type: "fixed" | "adaptive";
  /** The coefficient, or where it starts. */
  kl_coef: number;
  /** KL that an adaptive controller steers to. */
  target_kl: number;
  /** Samples over which an error of 1 doubles the coefficient, roughly. */
  horizon: number;
}

/** Coefficient of the KL penalty in the reward. */
export interface KlController {
  /** β of the next step. */
  readonly value: number;
  /** @param kl the step's mean KL. @param samples rows of the step. */
  update(kl: number, samples: number): void;
}

/**
 * Fixed, or adaptive as in Ziegler et al., "Fine-Tuning Language Models from Human Preferences" (arXiv 1909.08593, section 2.2):
 * β ← β · (1 + clip(KL / target − 1, ±0.2) · samples / horizon).
 * @param value β to go on from, after a resume.
 */
export function createKlController(config: KlControllerConfig, value = config.kl_coef): KlController {
  if (config.type === "fixed") return { value, update: () => {} };
  return {
    get value() {
      return value;
    },
    update(kl, samples) {
      const error = Math.min(Math.max(kl / config.target_kl - 1, -0.2), 0.2);
      value *= 1 + (error * samples) / config.horizon;
    },
  };
}
