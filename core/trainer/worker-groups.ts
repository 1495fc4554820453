import type { PpoConfig, SftConfig } from "../config/index.ts";
import { usesCritic } from "../config/uses-critic.ts";
import {
  ClassWithInitArgs,
  createColocatedWorkerClass,
  HEALTH_LIMITS,
  ResourcePoolManager,
  WorkerGroup,
  type GroupOf,
  type Transport,
  type WorkerGroupOptions,
} from "../controller/index.ts";
import { VerlError } from "../errors/index.ts";
import { BUILT_IN_PLUGIN, loadedPlugins } from "../registry/index.ts";
import { usesReference } from "./ppo-fields.ts";
import type { Sites } from "./rank-states.ts";
import type { TrainingLength } from "./role-configs.ts";
import type { PpoSite, RunSite } from "./run-site.ts";
import { ActorRolloutRefWorker } from "./workers/actor-rollout-ref-worker.ts";
import { CriticWorker } from "./workers/critic-worker.ts";
import { RewardWorker } from "./workers/reward-worker.ts";
import { SftWorker } from "./workers/sft-worker.ts";

/** Everything that the trainer of an RL run calls. */
export interface PpoGroups {
  readonly policy: GroupOf<ActorRolloutRefWorker>;
  readonly reference: GroupOf<ActorRolloutRefWorker> | undefined;
  readonly critic: GroupOf<CriticWorker> | undefined;
  readonly reward: GroupOf<RewardWorker>;
  /** The reward manager scores each answer by itself. */
  readonly streamsRewards: boolean;
  /** A group of each set of ranks. */
  readonly sites: Sites;
  /** Ends all ranks. */
  readonly close: () => Promise<void>;
}

export interface StartOptions {
  /** Folder from which the path of a reward file starts. */
  directory: string;
  /** Gives the start up. */
  signal: AbortSignal;
}

/** The transport that works in the trainer's own thread; one rank does the work of all there. */
const INLINE = "inline";

/** Starts the workers of an RL run: actor, reference and critic share each rank, the reward has a rank of its own. */
export async function startPpoGroups(
  config: PpoConfig,
  site: PpoSite,
  length: TrainingLength,
  options: StartOptions,
): Promise<PpoGroups> {
  const starter = new Starter(config, site, options);
  const own = { config, directory: options.directory };
  const { ranks } = starter;
  const manager = new ResourcePoolManager(
    { actor_pool: ranks, reward_pool: [1] },
    { actor: "actor_pool", reward: "reward_pool" },
    { maxColocateCount: 3, perPlace: starter.perPlace },
  );
  try {
    await starter.check(manager);
    const roles = createColocatedWorkerClass({
      actor_rollout: new ClassWithInitArgs(ActorRolloutRefWorker, { ...own, length, role: "actor_rollout" }),
      ...(usesReference(config) && {
        ref: new ClassWithInitArgs(ActorRolloutRefWorker, { ...own, length, role: "ref" }),
      }),
      ...(usesCritic(config) && { critic: new ClassWithInitArgs(CriticWorker, { ...own, steps: length.steps }) }),
    });
    const [models, reward] = await Promise.all([
      starter.track(WorkerGroup.start(roles, starter.groupOptions("models", manager.getResourcePool("actor")))),
      starter.track(
        WorkerGroup.start(
          new ClassWithInitArgs(RewardWorker, own),
          starter.groupOptions("reward", manager.getResourcePool("reward")),
        ),
      ),
    ]);
    // It loads while the models do; where it fails, no further model is waited for.
    const rewardFailed = new AbortController();
    const rewardLoads = reward.load();
    rewardLoads.catch(() => rewardFailed.abort());
    const { actor_rollout: policy, ref: reference, critic } = models.spawn();
    for (const group of [critic, reference, policy]) if (group) await starter.track(Promise.resolve(group));
    for (const group of [policy, reference, critic]) if (!rewardFailed.signal.aborted) await group?.initModel();
    await rewardLoads;
    const [streamsRewards = false] = await reward.streams();
    return {
      policy,
      reference,
      critic,
      reward,
      streamsRewards,
      sites: { models: policy, reward },
      close: () => starter.close(),
    };
  } catch (error) {
    await starter.close();
    throw error;
  }
}

/** Starts the workers of a supervised run. */
export async function startSftGroup(
  config: SftConfig,
  site: RunSite,
  steps: number,
  options: StartOptions,
): Promise<{ workers: GroupOf<SftWorker>; close: () => Promise<void> }> {
  const starter = new Starter(config, site, options);
  const manager = new ResourcePoolManager(
    { pool: starter.ranks },
    { sft: "pool" },
    { maxColocateCount: 1, perPlace: starter.perPlace },
  );
  try {
    await starter.check(manager);
    const worker = new ClassWithInitArgs(SftWorker, { config, directory: options.directory, steps });
    const pool = manager.getResourcePool("sft");
    const workers = await starter.track(WorkerGroup.start(worker, starter.groupOptions("sft", pool)));
    await workers.initModel();
    return { workers, close: () => starter.close() };
  } catch (error) {
    await starter.close();
    throw error;
  }
}

/** What the groups of one run have in common. */
class Starter {
  /** Ranks on each machine. */
  readonly ranks: readonly number[];
  readonly perPlace: Readonly<Record<string, number>>;
  private readonly transport: Transport;
  private readonly inline: boolean;
  private readonly deadline: AbortSignal;
  private readonly groups: Pick<WorkerGroup, "dispose">[] = [];

  constructor(
    private readonly config: PpoConfig | SftConfig,
    private readonly site: RunSite,
    options: StartOptions,
  ) {
    const { controller, trainer } = config;
    this.inline = controller.transport === INLINE;
    this.ranks = this.inline ? [1] : new Array<number>(trainer.nnodes).fill(trainer.n_gpus_per_node);
    this.perPlace = trainer.device === "cuda" ? { CPU: 1, GPU: 1 } : { CPU: 1 };
    this.transport = site.container.create("transport", controller.transport);
    this.deadline = AbortSignal.any([options.signal, startDeadline(controller.start_timeout_s)]);
    const asked = trainer.nnodes * trainer.n_gpus_per_node;
    if (this.inline && asked > 1)
      site.log.info(`The config counts on ${asked} ranks. One does the work of all, with the same result.`);
  }

  /** Shows the plan, and waits for resources that others hold. */
  async check(manager: ResourcePoolManager): Promise<void> {
    if (this.inline) return;
    await manager.waitForResources(this.transport, {
      deadlineS: this.config.controller.start_timeout_s,
      tell: (line) => this.site.log.info(line),
      signal: this.deadline,
    });
  }

  groupOptions(name: string, pool: WorkerGroupOptions["pool"]): WorkerGroupOptions {
    const plugins = loadedPlugins().flatMap(({ url }) => (url === undefined ? [] : [url]));
    const { silence_timeout_s: lostS } = this.config.controller;
    return {
      name,
      pool,
      transport: this.transport,
      plugins: [...new Set([BUILT_IN_PLUGIN, ...plugins])],
      log: this.site.log,
      metrics: this.site.metrics,
      health: { ...HEALTH_LIMITS, silentS: Math.min(HEALTH_LIMITS.silentS, lostS), lostS },
      signal: this.deadline,
      local: this.site,
    };
  }

  /** Remembers a group, so that `close` ends it. */
  async track<G extends Pick<WorkerGroup, "dispose">>(starting: Promise<G>): Promise<G> {
    const group = await starting;
    this.groups.push(group);
    return group;
  }

  async close(): Promise<void> {
    for (const group of this.groups.splice(0)) await group.dispose();
    await this.transport.close();
  }
}

function startDeadline(seconds: number): AbortSignal {
  const controller = new AbortController();
  const late = new VerlError("VERL_CONTROLLER_POOL", `The workers did not start within ${seconds} s.`, {
    location: { path: "controller.start_timeout_s" },
    hint: "The log says how far they came. Large models, or a loaded machine, may need more time.",
  });
  setTimeout(() => controller.abort(late), seconds * 1000).unref();
  return controller.signal;
}
