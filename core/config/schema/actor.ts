import { checkpoint } from "./checkpoint.ts";
import { flag, integer, number, openSection, section, text, texts } from "./field.ts";
import { optim } from "./optim.ts";

const HIDES_CLIP_RATIO = "verl's default is 0.2, which leaves `clip_ratio` without effect.";

export const actor = section("The policy that is trained.", {
  strategy: text("Training engine, a key of the `engine` registry.", "embedded", {
    "x-departure": "verl's default is `fsdp`, a PyTorch engine.",
  }),
  ppo_mini_batch_size: integer("Prompts an optimizer step; it must divide `data.train_batch_size`.", 256, {
    minimum: 1,
  }),
  ppo_micro_batch_size: integer(
    "Samples of one backward pass over all ranks; the older spelling of the next key.",
    null,
    {
      minimum: 1,
    },
  ),
  ppo_micro_batch_size_per_gpu: integer("Samples of one backward pass on a rank; null: derived.", null, { minimum: 1 }),
  use_dynamic_bsz: flag("Cut micro-batches by tokens instead of by samples.", false),
  ppo_max_token_len_per_gpu: integer(
    "Tokens of one micro-batch when `use_dynamic_bsz`; at least the longest sample's, prompt and response.",
    16384,
    { minimum: 1 },
  ),
  ppo_epochs: integer("Passes over each step's samples.", 1, { minimum: 1 }),
  shuffle: flag("Shuffle samples before they are cut into mini-batches.", false),
  data_loader_seed: integer("Seed of that shuffle.", 42, { minimum: 0 }),
  clip_ratio: number("PPO clip range.", 0.2, { minimum: 0 }),
  clip_ratio_low: number("Lower clip range; null: `clip_ratio`.", null, {
    minimum: 0,
    "x-departure": HIDES_CLIP_RATIO,
  }),
  clip_ratio_high: number("Upper clip range; null: `clip_ratio`.", null, {
    minimum: 0,
    "x-infinite": true,
    "x-departure": HIDES_CLIP_RATIO,
  }),
  clip_ratio_c: number("Dual-clip bound for negative advantages.", 3, { exclusiveMinimum: 1 }),
  tau_pos: number("SAPO's temperature for positive advantages.", 1, { exclusiveMinimum: 0 }),
  tau_neg: number("SAPO's temperature for negative advantages.", 1.05, { exclusiveMinimum: 0 }),
  loss_agg_mode: text("How per-token losses become one number, a key of the `loss_agg` registry.", "token-mean"),
  loss_scale_factor: number("Divisor of `seq-mean-token-sum-norm`; null: the response length.", null, {
    exclusiveMinimum: 0,
  }),
  policy_loss: openSection("The policy loss and its own options.", {
    loss_mode: text("Key of the `policy_loss` registry.", "vanilla"),
  }),
  select_keys: texts("Batch fields that the policy loss receives besides the usual ones.", [], {
    "x-departure": "Not in verl: a loss there sees a fixed set of fields.",
  }),
  use_rollout_log_probs: flag("Take the sampler's log-probs as the old ones.", false),
  entropy_coeff: number("Weight of the entropy bonus.", 0),
  calculate_entropy: flag("Report the entropy even when `entropy_coeff` is 0.", false),
  calculate_sum_pi_squared: flag("Compute Σπ² per token, which optimal-token baselines need.", false),
  use_kl_loss: flag("Add a KL term against the reference policy to the loss.", false),
  kl_loss_coef: number("Weight of that term.", 0.001, { minimum: 0 }),
  kl_loss_type: text("Its estimator, a key of the `kl_penalty` registry.", "low_var_kl"),
  grad_clip: number("Global gradient norm is clipped to this.", 1, { exclusiveMinimum: 0, "x-infinite": true }),
  optim: optim({ lr: 1e-6, betas: [0.9, 0.999], warmupRatio: 0, scheduler: "constant" }),
  checkpoint,
});

/** Keys of the batched log-prob computation, shared by `ref` and `rollout`. */
export function logProb() {
  const of = (key: string) => `\${actor_rollout_ref.actor.${key}}` as const;
  return {
    log_prob_micro_batch_size: integer(
      "Samples of one log-prob pass over all ranks; the older spelling of the next key.",
      null,
      { minimum: 1 },
    ),
    log_prob_micro_batch_size_per_gpu: integer("Samples of one log-prob pass on a rank; null: derived.", null, {
      minimum: 1,
    }),
    log_prob_use_dynamic_bsz: flag("Cut log-prob micro-batches by tokens.", of("use_dynamic_bsz")),
    log_prob_max_token_len_per_gpu: integer(
      "Tokens of one log-prob micro-batch when cut by tokens; at least the longest sample's.",
      of("ppo_max_token_len_per_gpu"),
      { minimum: 1 },
    ),
  };
}
