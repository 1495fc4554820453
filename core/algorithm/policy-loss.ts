import type { Scalar, Tensor, Tensor2D } from "@tensorflow/tfjs";
import type { NdArray } from "../batch/nd-array.ts";
import type { EntryMeta } from "../registry/entry.ts";
import type { LossDenominators } from "./loss-agg.ts";

/** What a policy loss receives: tfjs tensors, rows × response length, float32. */
export interface PolicyLossInput {
  /** log π_θ of the sampled tokens; the only differentiable input. */
  log_probs: Tensor2D;
  old_log_probs: Tensor2D;
  advantages: Tensor2D;
  response_mask: Tensor2D;
  /** Importance weights of rollout correction; absent when it is off. Multiply the per-token loss after clipping. */
  rollout_is_weights?: Tensor2D;
  /** Per-token entropy, present when the run computes it. */
  entropy?: Tensor2D;
  /** Fields of `requires`, of `actor.select_keys` and of the loss's own `prepare`. */
  [field: string]: Tensor | undefined;
}

/** All rows of one optimizer step, as constants: rows × response length. */
export interface PolicyLossStep {
  /** log π_θ before the step. */
  log_probs: NdArray<"float32">;
  old_log_probs: NdArray<"float32">;
  advantages: NdArray<"float32">;
  response_mask: NdArray;
  /** What else the loss receives. */
  [field: string]: NdArray | undefined;
}

export interface PolicyLossContext {
  /** Adds a metric of the optimizer step, under its full name. */
  metric(name: string, value: number): void;
}

/** The `actor_rollout_ref.actor` section of the config, as far as losses read it. */
export interface PolicyLossConfig {
  clip_ratio: number;
  /** null: `clip_ratio`. */
  clip_ratio_low: number | null;
  clip_ratio_high: number | null;
  /** Dual-clip constant, > 1. */
  clip_ratio_c: number;
  tau_pos: number;
  tau_neg: number;
  loss_agg_mode: string;
  /** `loss_mode` and the loss's own options, validated by its `optionsSchema`, defaults filled in. */
  policy_loss: Readonly<Record<string, unknown>> & { readonly loss_mode: string };
}

/** Applies `loss_agg_mode` with the denominators of the whole optimizer step. */
export interface Aggregate {
  (lossMatrix: Tensor2D): Scalar;
  /** The same with another mode, for losses whose paper fixes it. */
  as(mode: string, lossMatrix: Tensor2D): Scalar;
  /** Mean over unmasked tokens of the whole step; for metrics. */
  maskedMean(matrix: Tensor2D): Scalar;
  /** `loss_agg_mode`. */
  readonly mode: string;
  readonly mask: Tensor2D;
  readonly denominators: LossDenominators;
}

export interface PolicyLossOutput {
  /** This micro-batch's share of the step's loss: shares sum to the whole. */
  loss: Scalar;
  /** Shares of metrics under their full names (`actor/ppo_kl`); built with `agg.maskedMean`, they sum to the step's value. */
  metrics: Record<string, Scalar>;
}

/** A loss touches the model only through per-token log-probabilities (and entropy). Pure and differentiable in `log_probs`. */
export interface PolicyLoss extends EntryMeta {
  /**
   * For losses that depend on the step as a whole, such as on its mean advantage: called once an optimizer step, with all its rows,
   * before they are cut into micro-batches. The fields that it returns go with their rows to `compute`, and replace those of the same
   * name; a `response_mask` among them is the one that the step's denominators are counted over. Costs one more forward pass. Pure.
   */
  prepare?(step: PolicyLossStep, config: PolicyLossConfig, ctx: PolicyLossContext): Record<string, NdArray>;
  compute(input: PolicyLossInput, config: PolicyLossConfig, agg: Aggregate): PolicyLossOutput;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    policy_loss: PolicyLoss;
  }
}
