import type { PpoConfig } from "../config/index.ts";
import { createRng, type Rng } from "../tensor/rng.ts";

/** Stream that the rows of a step are shuffled by before they are cut to mini-batches; undefined: they keep their order. */
export function actorShuffle({ actor_rollout_ref: { actor } }: PpoConfig, step: number): Rng | undefined {
  return actor.shuffle ? createRng(actor.data_loader_seed).stream(`mini_batches/${step}`) : undefined;
}

/** The same of the critic's. */
export function criticShuffle({ critic }: PpoConfig, step: number): Rng | undefined {
  return critic.shuffle ? createRng(critic.data_loader_seed).stream(`mini_batches/${step}`) : undefined;
}
