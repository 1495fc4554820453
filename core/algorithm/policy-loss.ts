import type { Scalar, Tensor, Tensor2D } from "@tensorflow/tfjs";
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
  /** Fields of `requires` and of `actor.select_keys`. */
  [field: string]: Tensor | undefined;
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
  compute(input: PolicyLossInput, config: PolicyLossConfig, agg: Aggregate): PolicyLossOutput;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    policy_loss: PolicyLoss;
  }
}
