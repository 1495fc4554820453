import type { Scalar, Tensor2D } from "@tensorflow/tfjs";
import type { EntryMeta } from "../registry/entry.ts";

/** Counts over the whole optimizer step (all micro-batches, all ranks), so that no split of the batch changes the gradient. */
export interface LossDenominators {
  /** Σ response_mask. */
  tokens: number;
  /** Rows with at least one unmasked token. */
  sequences: number;
  /** `actor.loss_scale_factor`, or the response length when null. */
  scaleFactor: number;
}

/** `actor.loss_agg_mode`: how a loss matrix becomes the step's scalar. */
export interface LossAgg extends EntryMeta {
  /** @param lossMatrix rows × response length; @param mask the same shape, 0/1 float32. Masked positions are selected away. */
  aggregate(lossMatrix: Tensor2D, mask: Tensor2D, denominators: LossDenominators): Scalar;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    loss_agg: LossAgg;
  }
}
