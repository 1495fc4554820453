import {
  ClassWithInitArgs,
  type DeferredWorker,
  type GroupOf,
  type ResourcePool,
  type ResourcePoolManager,
} from "../controller/index.ts";
import type { GroupStarter } from "./group-starter.ts";
import type { Role, RolePools } from "./role-pools.ts";
import type { Sites } from "./rank-states.ts";
import { ActorRolloutRefWorker, type ActorRolloutRefOptions } from "./workers/actor-rollout-ref-worker.ts";
import { CriticWorker } from "./workers/critic-worker.ts";

/** Groups of the roles that hold models. */
export interface ModelGroups {
  readonly policy: GroupOf<ActorRolloutRefWorker>;
  /** Absent where the actor is the rollout too. */
  readonly rollout: GroupOf<ActorRolloutRefWorker> | undefined;
  readonly reference: GroupOf<ActorRolloutRefWorker> | undefined;
  readonly critic: GroupOf<CriticWorker> | undefined;
  /** One group of each pool, by name. */
  readonly sites: Sites;
  /** Of all pools. */
  readonly ranks: number;
}

/** Name of the group of the actor's pool; others are called as their pools. */
const MODELS = "models";

/** Starts the roles that hold models, those of one pool in one thread or process a rank. */
export async function startModels(
  starter: GroupStarter,
  { mapping }: RolePools,
  manager: ResourcePoolManager,
  options: Omit<ActorRolloutRefOptions, "role" | "loops">,
): Promise<ModelGroups> {
  const hybrid = mapping.rollout === mapping.actor;
  const policyRole = hybrid ? "actor_rollout" : "actor";
  const policy = (role: ActorRolloutRefOptions["role"]): DeferredWorker => {
    const loops = mapping.agent_loop === undefined;
    return new ClassWithInitArgs(ActorRolloutRefWorker, { ...options, role, loops });
  };
  const { length, ...own } = options;
  const workers: Readonly<Partial<Record<Role, readonly [role: string, worker: () => DeferredWorker]>>> = {
    actor: [policyRole, () => policy(policyRole)],
    ...(!hybrid && { rollout: ["rollout", () => policy("rollout")] as const }),
    ref: ["ref", () => policy("ref")],
    critic: ["critic", () => new ClassWithInitArgs(CriticWorker, { ...own, steps: length.steps })],
  };
  const pools = new Map<ResourcePool, Record<string, DeferredWorker>>();
  for (const [role, [name, worker]] of Object.entries(workers)) {
    if (!(role in mapping)) continue;
    const pool = manager.getResourcePool(role);
    pools.set(pool, { ...pools.get(pool), [name]: worker() });
  }
  const started = await Promise.all(
    [...pools].map(async ([pool, roles]) => {
      const name = pool.name === mapping.actor ? MODELS : pool.name.replace(/_pool$/, "");
      return [name, await starter.startColocated(name, roles, pool)] as const;
    }),
  );
  const groups = Object.assign({}, ...started.map(([, ofPool]) => ofPool)) as Record<string, unknown>;
  const sites = Object.fromEntries(started.map(([name, ofPool]) => [name, Object.values(ofPool)[0]!]));
  return {
    policy: groups[policyRole] as ModelGroups["policy"],
    rollout: groups["rollout"] as ModelGroups["rollout"],
    reference: groups["ref"] as ModelGroups["reference"],
    critic: groups["critic"] as ModelGroups["critic"],
    sites,
    ranks: Object.values(sites).reduce((sum, { worldSize }) => sum + worldSize, 0),
  };
}
