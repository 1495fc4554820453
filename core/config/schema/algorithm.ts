import { choice, flag, freeMap, integer, number, numberOrText, section, text } from "./field.ts";

const klCtrl = section("Weight of the KL penalty in the reward.", {
  type: choice("`adaptive` steers the weight so that the KL stays near `target_kl`.", "fixed", ["fixed", "adaptive"]),
  kl_coef: number("The weight, or where it starts.", 0.001, { minimum: 0 }),
  horizon: integer("Samples over which the adaptive weight adjusts.", 10000, { minimum: 1 }),
  target_kl: number("KL that the adaptive weight aims at.", 0.1, { exclusiveMinimum: 0 }),
});

const rolloutCorrection = section("Correction for the gap between sampler and trainer.", {
  rollout_is: choice("Importance weights per token or per sequence; null: none.", null, ["token", "sequence"]),
  rollout_is_threshold: number("Importance weights are cut to this.", 2, { exclusiveMinimum: 0 }),
  rollout_is_batch_normalize: flag("Divide importance weights by their mean.", false),
  rollout_rs: text("Rejection rules, comma-separated (`token_k1`, `seq_mean_k3`, …); null: none.", null),
  rollout_rs_threshold: numberOrText("One bound, or one a rule, comma-separated; `lower_upper` for k1 rules."),
  bypass_mode: flag("Take the sampler's log-probs as the old ones instead of computing them.", false),
  loss_type: choice("Loss of the bypass mode.", "ppo_clip", ["ppo_clip", "reinforce"]),
});

export const algorithm = section("What is optimised.", {
  adv_estimator: text("Key of the `adv_estimator` registry.", "gae"),
  adv_kwargs: freeMap("Options of the advantage estimator, checked by its own schema."),
  gamma: number("Discount.", 1, { minimum: 0, maximum: 1 }),
  lam: number("λ of generalised advantage estimation.", 1, { minimum: 0, maximum: 1 }),
  norm_adv_by_std_in_grpo: flag("Divide group advantages by the group's standard deviation.", true),
  use_kl_in_reward: flag("Subtract a KL penalty from token-level rewards.", false),
  kl_penalty: text("Its estimator, a key of the `kl_penalty` registry.", "kl"),
  kl_ctrl: klCtrl,
  use_pf_ppo: flag("Train on rows drawn by their reward (preference-filtered PPO).", false, {
    "x-departure":
      "Works with every advantage estimator, where verl knows it for `gae` alone; metrics and the rollout log tell of all answers.",
  }),
  pf_ppo: section("Options of `use_pf_ppo`.", {
    reweight_method: choice("How rewards become sampling weights.", "pow", ["pow", "max_min", "max_random"]),
    weight_pow: number("Exponent of `pow`.", 2),
  }),
  filter_groups: section("Dynamic sampling: groups whose answers all score the same are drawn again.", {
    enable: flag("Turn it on.", false),
    metric: text("Score to compare (`acc`, `score`, `seq_reward`, …); null: the reward.", null),
    max_num_gen_batches: integer("Generation batches a step at most; 0: no limit.", 0, { minimum: 0 }),
  }),
  rollout_correction: rolloutCorrection,
});
