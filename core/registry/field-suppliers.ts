import type { FieldSuppliers } from "./requires.ts";

/** What adds a field to the batch that not every run has. */
export const OPTIONAL_FIELDS: FieldSuppliers = {
  entropys:
    "set algorithm.rollout_correction.bypass_mode=false, so that old log-probs are recomputed, and entropy with them",
  ref_log_prob:
    "set actor_rollout_ref.actor.use_kl_loss=true or algorithm.use_kl_in_reward=true, which bring a reference policy",
  reward_baselines: "choose an estimator that requires it, as `remax` does: greedy answers are then scored too",
  rollout_is_weights: "set algorithm.rollout_correction.rollout_is=token or sequence",
  sum_pi_squared: "set actor_rollout_ref.actor.calculate_sum_pi_squared=true",
  values: "set critic.enable=true",
};

/** What adds the fields that every run has, for those who call an entry without a run. */
export const EVERY_RUN: FieldSuppliers = {
  advantages: "the advantage estimator's result",
  log_probs: "the policy's log-probs of the sampled tokens",
  old_log_probs: "the policy's log-probs before the update",
  response_mask: "the agent loop's, 1 where the model wrote the token",
  token_level_rewards: "the reward manager's scores, less the KL penalty",
  uid: "the data loader's, one a prompt, which its answers share",
};
