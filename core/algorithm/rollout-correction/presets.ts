import type { BypassLoss, RolloutCorrectionConfig } from "./config.ts";

/** What a preset sets under `algorithm.rollout_correction`; all else stays at its default. */
export type RolloutCorrectionPreset = Partial<RolloutCorrectionConfig> & {
  readonly bypass_mode?: true;
  readonly loss_type?: BypassLoss;
};

const TOKEN_TIS = { rollout_is: "token" } as const;
const SEQ_TIS = { rollout_is: "sequence" } as const;
const GEO_RS = { rollout_rs: "seq_mean_k1", rollout_rs_threshold: "0.999_1.001" } as const;
const K3_RS = { rollout_rs: "seq_mean_k3", rollout_rs_threshold: 0.01 } as const;
const BYPASS_PPO = { bypass_mode: true, loss_type: "ppo_clip" } as const;
const BYPASS_PG = { bypass_mode: true, loss_type: "reinforce" } as const;

/**
 * Settings that are known to go together, under verl's names. `decoupled`: old log-probs are recomputed, and the correction bridges
 * sampler and old policy. `bypass`: the sampler is the old policy. `tis`: truncated importance weights; `rs`: rejection; `geo`: by the
 * geometric mean of the ratios; `pg`: policy gradient without clipping.
 */
export const ROLLOUT_CORRECTION_PRESETS = {
  disabled: {},
  decoupled_token_is: TOKEN_TIS,
  decoupled_seq_is: SEQ_TIS,
  decoupled_seq_is_rs: { ...SEQ_TIS, rollout_rs: "seq_sum_k1", rollout_rs_threshold: "0.5_2.0" },
  decoupled_geo_rs: GEO_RS,
  decoupled_geo_rs_seq_tis: { ...GEO_RS, ...SEQ_TIS },
  decoupled_geo_rs_token_tis: { ...GEO_RS, ...TOKEN_TIS },
  decoupled_k3_rs: K3_RS,
  decoupled_k3_rs_seq_tis: { ...K3_RS, ...SEQ_TIS },
  decoupled_k3_rs_token_tis: { ...K3_RS, ...TOKEN_TIS },
  bypass_ppo_clip: BYPASS_PPO,
  bypass_ppo_clip_geo_rs: { ...BYPASS_PPO, ...GEO_RS },
  bypass_ppo_clip_k3_rs: { ...BYPASS_PPO, ...K3_RS },
  bypass_pg_is: { ...BYPASS_PG, ...SEQ_TIS },
  bypass_pg_geo_rs: { ...BYPASS_PG, ...GEO_RS },
  bypass_pg_geo_rs_seq_tis: { ...BYPASS_PG, ...GEO_RS, ...SEQ_TIS },
  bypass_pg_geo_rs_token_tis: { ...BYPASS_PG, ...GEO_RS, ...TOKEN_TIS },
} as const satisfies Record<string, RolloutCorrectionPreset>;
