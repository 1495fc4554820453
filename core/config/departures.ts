/** What keys of the config do otherwise than verl's, and why: key → a row each of the departures table. Entries have their own. */
export const CONFIG_DEPARTURES: Readonly<Record<string, readonly string[]>> = {
  "actor_rollout_ref.actor.use_dynamic_bsz": [
    "A token bound that the longest sample could exceed is refused before the first step; verl's assertion ends the run once such a batch comes.",
    "Micro-batches keep to the bound, which is there for the memory's sake; verl derives their number from it, and may fill one beyond it.",
  ],
  "algorithm.rollout_correction": [
    "A row that loses all of its tokens takes no part in its group's statistics, since nothing of it is trained; verl counts its score.",
    "The reward of a rejected token moves to a kept one of its row, so that the answer is worth the same; verl leaves it where estimators by token do not see it.",
    "Rows without tokens count in no weight and no metric, so that padding changes nothing; verl counts them as weight 0 or ratio 1.",
    "A batch without tokens is left as it is, as every other phase does; verl raises.",
    "`bypass_mode` corrects on every rank; verl writes it to the driver's config after the workers have theirs, and they train with `vanilla`.",
  ],
  "algorithm.use_pf_ppo": [
    "Rows are drawn under every estimator, since that takes their scores alone and comes after the advantages; verl draws under `gae` only.",
    "Rows without a score and rows without a trained token are not drawn, since nothing would be learnt of them; verl draws them too.",
  ],
  "reward_model.max_unscored_fraction": [
    "A row without a score leaves its group's statistics and the losses, their denominators, entropy and KL included, as a rejected row does; verl has none such, for a reward that fails ends its run or counts as 0.",
  ],
};
