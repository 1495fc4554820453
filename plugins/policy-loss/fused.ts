import type * as tf from "@tensorflow/tfjs";
import {
  fusedPolicyLoss,
  registries,
  VerlError,
  type Aggregate,
  type FusedAggregation,
  type FusedLoss,
  type PolicyLossInput,
  type PolicyLossOutput,
} from "verl";
import { seqMeanTokenMean } from "../loss-agg/seq-mean-token-mean.ts";
import { seqMeanTokenSumNorm } from "../loss-agg/seq-mean-token-sum-norm.ts";
import { seqMeanTokenSum } from "../loss-agg/seq-mean-token-sum.ts";
import { tokenMean } from "../loss-agg/token-mean.ts";

/** Aggregations that kernels have. An entry that replaced one of them is none. */
const AGGREGATIONS = {
  "token-mean": tokenMean,
  "seq-mean-token-sum": seqMeanTokenSum,
  "seq-mean-token-mean": seqMeanTokenMean,
  "seq-mean-token-sum-norm": seqMeanTokenSumNorm,
};

export interface FusedOptions {
  /** How far a ratio may go below and above 1. */
  clip?: { readonly low: number; readonly high: number };
  /** Numbers of the loss's own; see `PolicyLossAttrs`. */
  first?: number;
  second?: number;
  /** Aggregation that the loss's paper fixes. Default: the run's. */
  mode?: FusedAggregation;
  /** 1 for tokens that the loss treats in its own way. */
  marks?: tf.Tensor2D;
}

/**
 * The loss by the backend's kernel; undefined where there is none, for the loss or for the aggregation.
 * @param metricNames names of the kernel's three metrics; those without a name are left out.
 */
export function fused(
  loss: FusedLoss,
  input: PolicyLossInput,
  agg: Aggregate,
  metricNames: readonly (string | undefined)[],
  { clip = { low: 0, high: 0 }, first = 0, second = 0, mode = agg.mode as FusedAggregation, marks }: FusedOptions = {},
): PolicyLossOutput | undefined {
  requireShapes(input, agg.mask, marks);
  if (AGGREGATIONS[mode] === undefined || registries.loss_agg.get(mode) !== AGGREGATIONS[mode]) return undefined;
  const { log_probs, old_log_probs, advantages, rollout_is_weights } = input;
  const result = fusedPolicyLoss(
    {
      logProbs: log_probs,
      oldLogProbs: old_log_probs,
      advantages,
      mask: agg.mask,
      weights: rollout_is_weights,
      marks,
    },
    { loss, aggregation: mode, ...agg.denominators, ...clip, first, second },
  );
  if (result === undefined) return undefined;
  const metrics: Record<string, tf.Scalar> = {};
  metricNames.forEach((name, i) => {
    if (name !== undefined) metrics[name] = result.metrics[i]!;
  });
  return { loss: result.loss, metrics };
}

/** Kernels go over plain memory, where a field of another shape would be read past its end; tfjs would broadcast it. */
function requireShapes(input: PolicyLossInput, mask: tf.Tensor2D, marks: tf.Tensor2D | undefined): void {
  const { log_probs, old_log_probs, advantages, rollout_is_weights } = input;
  const fields = { old_log_probs, advantages, response_mask: mask, rollout_is_weights, marks };
  for (const [name, field] of Object.entries(fields)) {
    if (field === undefined || field.shape.join() === log_probs.shape.join()) continue;
    throw new VerlError(
      "VERL_ALGORITHM_SHAPE",
      `\`${name}\` has the shape [${field.shape.join(", ")}], and log_probs [${log_probs.shape.join(", ")}].`,
      { hint: "Each field of a loss has one number a token: rows × response length." },
    );
  }
}

/** Metrics of losses that clip. */
export const CLIP_METRICS = ["actor/pg_clipfrac", "actor/pg_clipfrac_lower", "actor/ppo_kl"] as const;
