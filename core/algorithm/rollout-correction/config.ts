/** The `algorithm.rollout_correction` section of the config, as far as the correction itself reads it. */
export interface RolloutCorrectionConfig {
  /** Importance weights per token or per answer; null: none. */
  readonly rollout_is: "token" | "sequence" | null;
  /** Weights are cut to this, above 0. */
  readonly rollout_is_threshold: number;
  /** Divide the cut weights by their mean. */
  readonly rollout_is_batch_normalize: boolean;
  /** Rejection rules, comma-separated; null: none. */
  readonly rollout_rs: string | null;
  /** One bound for all rules or one a rule, comma-separated; `lower_upper`, or `upper` alone, for k1 rules. */
  readonly rollout_rs_threshold: string | number | null;
}

/** Losses of the bypass mode. */
export type BypassLoss = "ppo_clip" | "reinforce";
