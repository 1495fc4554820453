import { actor } from "./actor.ts";
import { algorithm } from "./algorithm.ts";
import { critic } from "./critic.ts";
import { data } from "./data.ts";
import { flag, section, type ValueOf } from "./field.ts";
import { host, ppoController } from "./host.ts";
import { model } from "./model.ts";
import { ref } from "./ref.ts";
import { customRewardFunction, rewardModel } from "./reward.ts";
import { rollout } from "./rollout.ts";
import { trainer } from "./trainer.ts";

/** The config tree of `verl train`: verl's keys, with verl's defaults unless an `x-departure` says why not. */
export const ppoSection = section("PPO and its relatives (`verl train`).", {
  data,
  actor_rollout_ref: section("The policy: trained (actor), sampled from (rollout), kept as it was (ref).", {
    hybrid_engine: flag(
      "Actor and rollout share their ranks; false: the rollout has `rollout.nnodes` × `rollout.n_gpus_per_node` of its own.",
      true,
    ),
    model: model(),
    actor,
    ref,
    rollout,
  }),
  critic,
  reward_model: rewardModel,
  custom_reward_function: customRewardFunction,
  algorithm,
  trainer,
  ...host,
  controller: ppoController,
});

/** The config of `verl train` with every default filled in. */
export type PpoConfig = ValueOf<typeof ppoSection>;
