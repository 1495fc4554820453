import type { PpoConfig, SftConfig } from "../config/index.ts";
import { ClassWithInitArgs, ResourcePoolManager, type GroupOf, type ResourcePool } from "../controller/index.ts";
import { GroupStarter, type StartOptions } from "./group-starter.ts";
import { startModels } from "./model-groups.ts";
import type { Sites } from "./rank-states.ts";
import type { TrainingLength } from "./role-configs.ts";
import { onOneRank, rolePools } from "./role-pools.ts";
import { AgentDesk } from "./rollout/agent-desk.ts";
import { hybridSampler, standaloneSampler, type Sampler } from "./rollout/sampler.ts";
import type { PpoSite, RunSite } from "./run-site.ts";
import type { ActorRolloutRefWorker } from "./workers/actor-rollout-ref-worker.ts";
import { AgentLoopWorker } from "./workers/agent-loop-worker.ts";
import type { CriticWorker } from "./workers/critic-worker.ts";
import { RewardWorker } from "./workers/reward-worker.ts";
import { SftWorker } from "./workers/sft-worker.ts";

/** Everything that the trainer of an RL run calls. */
export interface PpoGroups {
  /** The actor, which may be the rollout too. */
  readonly policy: GroupOf<ActorRolloutRefWorker>;
  readonly sampler: Sampler;
  readonly reference: GroupOf<ActorRolloutRefWorker> | undefined;
  readonly critic: GroupOf<CriticWorker> | undefined;
  readonly reward: GroupOf<RewardWorker>;
  /** The reward manager scores each answer by itself. */
  readonly streamsRewards: boolean;
  /** Ranks that hold models. */
  readonly modelRanks: number;
  /** A group of each set of ranks. */
  readonly sites: Sites;
  /** Ends all ranks. */
  readonly close: () => Promise<void>;
}

/** Starts the workers of an RL run, each role in its pool; roles of one pool share each of its ranks, but for agent loops and reward. */
export async function startPpoGroups(
  config: PpoConfig,
  site: PpoSite,
  length: TrainingLength,
  options: StartOptions,
): Promise<PpoGroups> {
  const starter = new GroupStarter(config, site, options);
  const own = { config, directory: options.directory };
  const pools = starter.inline ? onOneRank(rolePools(config)) : rolePools(config);
  const mapping = pools.mapping as Readonly<Record<string, string>>;
  const manager = new ResourcePoolManager<string>(pools.spec, mapping, {
    maxColocateCount: 3,
    perPlace: starter.perPlace,
  });
  try {
    await starter.check(manager, mapping);
    const [models, reward, agents] = await Promise.all([
      startModels(starter, pools, manager, { ...own, length }),
      starter.start("reward", new ClassWithInitArgs(RewardWorker, own), firstPlace(manager.getResourcePool("reward"))),
      pools.mapping.agent_loop === undefined
        ? undefined
        : starter.start(
            "agent_loop",
            new ClassWithInitArgs(AgentLoopWorker, own),
            manager.getResourcePool("agent_loop"),
          ),
    ]);
    // They load while the models do; where that fails, no further model is waited for.
    const failed = new AbortController();
    const loads = Promise.all([reward.load(), agents?.load()]);
    loads.catch(() => failed.abort());
    const { policy, rollout = policy, reference, critic } = models;
    for (const group of new Set([policy, rollout, reference, critic])) {
      if (!failed.signal.aborted) await group?.initModel();
    }
    await loads;
    const [streamsRewards = false] = await reward.streams();
    const answers = agents ? new AgentDesk(agents, rollout) : rollout;
    const bucketBytes = config.actor_rollout_ref.rollout.update_weights_bucket_megabytes * 2 ** 20;
    return {
      policy,
      sampler:
        rollout === policy ? hybridSampler(policy, answers) : standaloneSampler(policy, rollout, answers, bucketBytes),
      reference,
      critic,
      reward,
      streamsRewards,
      modelRanks: models.ranks,
      sites: { ...models.sites, reward, ...(agents && { agent_loop: agents }) },
      close: () => starter.close(),
    };
  } catch (error) {
    await starter.close();
    throw error;
  }
}

/** One rank of a pool is enough for what is not spread. */
function firstPlace(pool: ResourcePool): ResourcePool {
  return pool.worldSize === 1 ? pool : pool.split([1, pool.worldSize - 1])[0]!;
}

const SFT_MAPPING = { sft: "pool" };

/** Starts the workers of a supervised run. */
export async function startSftGroup(
  config: SftConfig,
  site: RunSite,
  steps: number,
  options: StartOptions,
): Promise<{ workers: GroupOf<SftWorker>; close: () => Promise<void> }> {
  const starter = new GroupStarter(config, site, options);
  const manager = new ResourcePoolManager({ pool: starter.ranks }, SFT_MAPPING, {
    maxColocateCount: 1,
    perPlace: starter.perPlace,
  });
  try {
    await starter.check(manager, SFT_MAPPING);
    const worker = new ClassWithInitArgs(SftWorker, { config, directory: options.directory, steps });
    const pool = manager.getResourcePool("sft");
    const workers = await starter.start("sft", worker, pool);
    await workers.initModel();
    return { workers, close: () => starter.close() };
  } catch (error) {
    await starter.close();
    throw error;
  }
}
