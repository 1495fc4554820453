import { checkpoint } from "./checkpoint.ts";
import { flag, integer, number, orNull, section, text } from "./field.ts";
import { model } from "./model.ts";
import { optim } from "./optim.ts";

export const critic = section("The value model.", {
  enable: flag("Train a critic; null: when `algorithm.adv_estimator` reads values.", null),
  strategy: text(
    "Training engine that holds it, a key of the `engine` registry.",
    "${actor_rollout_ref.actor.strategy}",
    {
      "x-departure": "verl's default is `fsdp`, whatever the actor's.",
    },
  ),
  ppo_mini_batch_size: integer("Prompts an optimizer step.", "${actor_rollout_ref.actor.ppo_mini_batch_size}", {
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
  forward_micro_batch_size: orNull(
    integer("Samples of one values pass over all ranks.", "${critic.ppo_micro_batch_size}", { minimum: 1 }),
  ),
  forward_micro_batch_size_per_gpu: orNull(
    integer("Samples of one values pass on a rank.", "${critic.ppo_micro_batch_size_per_gpu}", { minimum: 1 }),
  ),
  use_dynamic_bsz: flag("Cut micro-batches by tokens.", "${actor_rollout_ref.actor.use_dynamic_bsz}"),
  ppo_max_token_len_per_gpu: integer(
    "Tokens of one micro-batch when cut by tokens; at least the longest sample's.",
    32768,
    { minimum: 1 },
  ),
  forward_max_token_len_per_gpu: integer(
    "Tokens of one values micro-batch when cut by tokens.",
    "${critic.ppo_max_token_len_per_gpu}",
    { minimum: 1 },
  ),
  ppo_epochs: integer("Passes over each step's samples.", "${actor_rollout_ref.actor.ppo_epochs}", { minimum: 1 }),
  shuffle: flag("Shuffle samples before they are cut into mini-batches.", "${actor_rollout_ref.actor.shuffle}"),
  data_loader_seed: integer("Seed of that shuffle.", 42, { minimum: 0 }),
  cliprange_value: number("Clip range of the value loss.", 0.5, { minimum: 0 }),
  loss_agg_mode: text("How per-token losses become one number.", "${actor_rollout_ref.actor.loss_agg_mode}", {
    "x-departure": "Tokens and rows are counted over the whole optimizer step; verl counts those of each micro-batch.",
  }),
  grad_clip: number("Global gradient norm is clipped to this.", 1, { exclusiveMinimum: 0, "x-infinite": true }),
  optim: optim({ lr: 1e-5, betas: [0.9, 0.999], warmupRatio: 0, scheduler: "constant" }),
  model: model({
    path: "${actor_rollout_ref.model.path}",
    tokenizerPath: "${actor_rollout_ref.model.path}",
    notes: { "x-departure": "verl's default is a model of its own." },
  }),
  checkpoint,
});
