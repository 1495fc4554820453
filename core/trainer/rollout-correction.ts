import { correctRollout, rewardsOfKeptTokens } from "../algorithm/rollout-correction/index.ts";
import { DataProto } from "../batch/data-proto.ts";
import type { PpoConfig } from "../config/index.ts";
import type { StepMetrics } from "./metrics/step-metrics.ts";

/*
 * Where rollout correction sits in a run. Decoupled mode works here, between rewards and advantages, on recomputed old log-probs.
 * Bypass mode works in the loss, on the log-probs of the mini-batch: the trainer only chooses that loss.
 */

/** The loss of bypass mode, a key of the `policy_loss` registry. */
export const BYPASS_LOSS = "bypass_mode";

/** In bypass mode, the config with the loss of that mode, which is told how to correct; any other config as it is. */
export function withBypassLoss(config: PpoConfig): PpoConfig {
  const { rollout_correction } = config.algorithm;
  if (!rollout_correction.bypass_mode) return config;
  const { actor } = config.actor_rollout_ref;
  const policy_loss = {
    ...actor.policy_loss,
    loss_mode: BYPASS_LOSS,
    rollout_correction: { ...rollout_correction },
  };
  return { ...config, actor_rollout_ref: { ...config.actor_rollout_ref, actor: { ...actor, policy_loss } } };
}

export interface CorrectedBatch {
  /**
   * With `response_mask` less the rejected tokens, whose rewards moved to the kept ones, and with `rollout_is_weights` where these are
   * on. What rejected tokens lack from here on, they lack in the loss, its denominators, and the metrics of advantages too.
   */
  batch: DataProto;
  /** 1 for rows that lost all of their tokens. */
  rejected: Uint8Array;
}

/** Decoupled mode. With neither weights nor rules it changes nothing and measures the gap between sampler and trainer. */
export function correctBatch(
  batch: DataProto,
  config: PpoConfig["algorithm"]["rollout_correction"],
  metrics: StepMetrics,
): CorrectedBatch {
  const before = batch.tensor("response_mask", "int32");
  const { response_mask, rollout_is_weights, rejected, ...result } = correctRollout(
    {
      old_log_probs: batch.tensor("old_log_probs", "float32"),
      rollout_log_probs: batch.tensor("rollout_log_probs", "float32"),
      response_mask: before,
    },
    config,
  );
  metrics.addAll(result.metrics);
  const kept = config.rollout_rs !== null && {
    response_mask,
    token_level_rewards: rewardsOfKeptTokens(batch.tensor("token_level_rewards", "float32"), before, response_mask),
  };
  const corrected = { ...kept, ...(rollout_is_weights && { rollout_is_weights }) };
  return { batch: batch.union(DataProto.fromSingleDict(corrected), "replace"), rejected };
}
