import type * as tf from "@tensorflow/tfjs";
import { createAggregate } from "../algorithm/aggregate.ts";
import type { LossDenominators } from "../algorithm/loss-agg.ts";
import { valueLoss } from "../algorithm/value-loss.ts";
import type { PpoConfig } from "../config/index.ts";
import type { TokenLoss } from "../engine/training-engine.ts";

/** Batch fields that the critic's loss reads. */
export const CRITIC_FIELDS = ["values", "returns", "response_mask"] as const;

/** The critic's loss of one optimizer step. @param denominators of the whole step, which verl counts per micro-batch. */
export function criticLoss(
  { cliprange_value, loss_agg_mode }: PpoConfig["critic"],
  denominators: LossDenominators,
): TokenLoss {
  return {
    fields: CRITIC_FIELDS,
    outputs: ["values"],
    compute({ values: vpreds, fields }) {
      const { values, returns, response_mask } = fields as Record<(typeof CRITIC_FIELDS)[number], tf.Tensor2D>;
      const agg = createAggregate(loss_agg_mode, response_mask, denominators);
      return valueLoss({ vpreds: vpreds!, values, returns }, cliprange_value, agg);
    },
  };
}
