import * as tf from "@tensorflow/tfjs";
import { withoutGradient } from "../without-gradient.ts";
import { callKernel, hasKernel } from "./call.ts";

/**
 * Kernel: inputs `logProbs`, `oldLogProbs`, `advantages`, `mask` and, where there are any, `weights` and `marks`, all [rows, width];
 * attributes `PolicyLossAttrs`; outputs: the loss, three metrics, and d loss / d log-prob [rows, width].
 */
export const POLICY_LOSS = "PolicyLoss";
/** Kernel: inputs `gradient`, the last output of `PolicyLoss`, and `dLoss`, a scalar; output: their product. */
export const POLICY_LOSS_GRADIENT = "PolicyLossGradient";

/** Losses that have a kernel, by their keys in the `policy_loss` registry. */
export type FusedLoss =
  "cispo" | "clip_cov" | "geo_mean" | "gpg" | "gspo" | "kl_cov" | "reinforce" | "sapo" | "vanilla";

/** Aggregations that a kernel has, by their keys in the `loss_agg` registry. */
export type FusedAggregation = "token-mean" | "seq-mean-token-sum" | "seq-mean-token-mean" | "seq-mean-token-sum-norm";

export interface PolicyLossAttrs extends tf.NamedAttrMap {
  loss: FusedLoss;
  aggregation: FusedAggregation;
  /** Denominators of the whole optimizer step. */
  tokens: number;
  sequences: number;
  scaleFactor: number;
  /** How far a ratio may go below and above 1. */
  low: number;
  high: number;
  /** Numbers of the loss's own: dual-clip constant; `tau_pos` and `tau_neg`; weight of the penalty. */
  first: number;
  second: number;
}

/** What the kernels divide a loss's sum by. @param ofRows the loss is a mean over rows, whatever the aggregation. */
export function lossDivisor(
  { aggregation, tokens, sequences, scaleFactor }: PolicyLossAttrs,
  { ofRows }: { ofRows: boolean },
): number {
  const by: Readonly<Record<FusedAggregation, number>> = {
    "token-mean": Math.max(tokens, 1),
    "seq-mean-token-sum": Math.max(sequences, 1),
    "seq-mean-token-mean": Math.max(sequences, 1),
    "seq-mean-token-sum-norm": scaleFactor,
  };
  return by[ofRows ? "seq-mean-token-sum" : aggregation];
}

export interface PolicyLossTensors {
  logProbs: tf.Tensor2D;
  oldLogProbs: tf.Tensor2D;
  advantages: tf.Tensor2D;
  mask: tf.Tensor2D;
  /** Importance weights. */
  weights?: tf.Tensor2D;
  /** 1 for tokens that the loss treats in its own way. */
  marks?: tf.Tensor2D;
}

/**
 * A built-in loss, aggregated, with its metrics and its gradient in one pass over the tokens. Undefined where the backend has no kernel for
 * it, or none for tensors that are not computed yet: then the loss is composed of tfjs' operations.
 */
export function fusedPolicyLoss(
  { logProbs, oldLogProbs, advantages, mask, weights, marks }: PolicyLossTensors,
  attrs: PolicyLossAttrs,
): { loss: tf.Scalar; metrics: readonly tf.Scalar[] } | undefined {
  const inputs = { logProbs, oldLogProbs, advantages, mask, weights, marks };
  if (!hasKernel(POLICY_LOSS, inputs)) return undefined;
  const constant = withoutGradient(() => tf.clone(logProbs));
  const [loss, first, second, third, slopes] = callKernel(POLICY_LOSS, { ...inputs, logProbs: constant }, attrs);
  const differentiable = tf.customGrad((_logProbs, save) => {
    (save as tf.GradSaveFunc)([slopes!]);
    return { value: tf.clone(loss as tf.Scalar), gradFunc };
  });
  return { loss: differentiable(logProbs), metrics: [first, second, third] as tf.Scalar[] };
}

/** Not one registered for the kernel: tfjs would fill a tensor of zeros as large as the slopes, for the derivative that nobody asks of them. */
const gradFunc = (dLoss: tf.Scalar, [gradient]: tf.Tensor[]): tf.Tensor =>
  callKernel(POLICY_LOSS_GRADIENT, { gradient, dLoss }, {})[0]!;
