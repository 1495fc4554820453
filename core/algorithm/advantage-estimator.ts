import type { EntryMeta } from "../registry/entry.ts";
import type { NdArray } from "../batch/nd-array.ts";

/** What an estimator receives; all matrices are rows × response length (float32 unless said otherwise). */
export interface AdvantageInput {
  token_level_rewards: NdArray<"float32">;
  /** 1 where the model wrote the token, 0 on padding and observations. */
  response_mask: NdArray<"float32">;
  /** Group of each row: the prompt it answers. */
  uid: readonly string[];
  /** 1 for rows whose reward is missing; they take no part in statistics and get 0. Absent: all rows are scored. */
  unscored?: Uint8Array;
  /** Importance weights of rollout correction; absent when it is off. */
  rollout_is_weights?: NdArray<"float32">;
  /** Fields named in `requires`, and those that the options name: an NdArray, or one value a row. */
  [field: string]: unknown;
}

/** The `algorithm` section of the config, as far as estimators read it. */
export interface AdvantageConfig {
  /** Discount, default 1. */
  gamma: number;
  /** GAE λ, default 1. */
  lam: number;
  norm_adv_by_std_in_grpo: boolean;
  /** The estimator's own options, validated by its `optionsSchema`, defaults filled in. */
  adv_kwargs: Readonly<Record<string, unknown>>;
}

export interface AdvantageContext {
  /** Adds a metric to the step, under its full name. */
  metric(name: string, value: number): void;
}

export interface AdvantageOutput {
  /** rows × response length, 0 where `response_mask` is 0. */
  advantages: NdArray<"float32">;
  returns: NdArray<"float32">;
  /** 1 for rows that have a score and took no part all the same, for want of something else. Like unscored rows they leave the losses. */
  skipped?: Uint8Array;
}

/** Turns token-level rewards into advantages. Pure: inputs are never written. */
export interface AdvantageEstimator extends EntryMeta {
  /** True where a row is compared with the other rows of its uid; such an estimator refuses `rollout.n: 1` at start. */
  readonly needsGroups?: boolean;
  /** Batch fields that its options name, such as the columns of reward parts; required like those of `requires`. */
  fieldsOf?(adv_kwargs: AdvantageConfig["adv_kwargs"]): readonly string[];
  compute(input: AdvantageInput, config: AdvantageConfig, ctx: AdvantageContext): AdvantageOutput;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    adv_estimator: AdvantageEstimator;
  }
}
