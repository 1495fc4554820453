import type { PpoConfig } from "../config/index.ts";
import { usesCritic } from "../config/uses-critic.ts";
import { usesReference } from "./ppo-fields.ts";

/** What a rank can be there for. */
export type Role = "actor" | "rollout" | "ref" | "critic" | "agent_loop" | "reward";

/** The pool of each role that a run has, and the ranks of each pool on each machine: what `ResourcePoolManager` takes. */
export interface RolePools {
  readonly spec: Readonly<Record<string, readonly number[]>>;
  readonly mapping: Readonly<Partial<Record<Role, string>>>;
}

/**
 * Who stands where. Actor, reference and critic share their ranks unless `controller.role_mapping` says otherwise, and the rollout is
 * with them unless `hybrid_engine` is false; agent loops run beside the rollout engine unless `agent.num_workers` gives them ranks.
 */
export function rolePools(config: PpoConfig): RolePools {
  const { trainer, controller, actor_rollout_ref: policy } = config;
  const { rollout, hybrid_engine } = policy;
  const { num_workers } = rollout.agent;
  const spec = {
    actor_pool: new Array<number>(trainer.nnodes).fill(trainer.n_gpus_per_node),
    ...(!hybrid_engine && { rollout_pool: new Array<number>(rollout.nnodes).fill(rollout.n_gpus_per_node) }),
    ...(num_workers !== null && { agent_loop_pool: [num_workers] }),
    reward_pool: [1],
    ...(controller.resource_pool_spec as Readonly<Record<string, readonly number[]>>),
  };
  const { ref, critic, reward } = controller.role_mapping;
  const mapping = {
    actor: "actor_pool",
    rollout: hybrid_engine ? "actor_pool" : "rollout_pool",
    ...(usesReference(config) && { ref }),
    ...(usesCritic(config) && { critic }),
    ...(num_workers !== null && { agent_loop: "agent_loop_pool" }),
    reward,
  };
  // Nothing is asked for that no role has use for.
  const used = new Set<string>(Object.values(mapping));
  return { spec: Object.fromEntries(Object.entries(spec).filter(([pool]) => used.has(pool))), mapping };
}

/** The same with one rank in each pool, where one does the work of all. */
export function onOneRank({ spec, mapping }: RolePools): RolePools {
  return { spec: Object.fromEntries(Object.keys(spec).map((pool) => [pool, [1]])), mapping };
}
