import type { PpoConfig, SftConfig } from "../config/index.ts";
import {
  createColocatedWorkerClass,
  HEALTH_LIMITS,
  WorkerGroup,
  type DeferredWorker,
  type GroupOf,
  type ResourcePool,
  type ResourcePoolManager,
  type Transport,
  type Worker,
  type WorkerGroupOptions,
} from "../controller/index.ts";
import { VerlError } from "../errors/index.ts";
import { BUILT_IN_PLUGIN, loadedPlugins, registries } from "../registry/index.ts";
import type { RunSite } from "./run-site.ts";

export interface StartOptions {
  /** Folder from which the path of a reward file starts. */
  directory: string;
  /** Gives the start up. */
  signal: AbortSignal;
}

/** The transport that works in the trainer's own thread; one rank does the work of all there. */
const INLINE = "inline";

/** What the groups of one run have in common. */
export class GroupStarter {
  /** Ranks on each machine. */
  readonly ranks: readonly number[];
  /** All is done in the trainer's own thread. */
  readonly inline: boolean;
  readonly perPlace: Readonly<Record<string, number>>;
  private readonly transport: Transport;
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
    // The ranks of one machine share the GPU that its backend finds; only a cluster hands out several.
    const { oneMachine = false } = registries.transport.find(controller.transport).entry;
    this.perPlace = trainer.device === "cuda" && !oneMachine ? { CPU: 1, GPU: 1 } : { CPU: 1 };
    this.transport = site.container.create("transport", controller.transport);
    this.deadline = AbortSignal.any([options.signal, startDeadline(controller.start_timeout_s)]);
    const asked = trainer.nnodes * trainer.n_gpus_per_node;
    if (this.inline && asked > 1)
      site.log.info(`The config counts on ${asked} ranks. One does the work of all, with the same result.`);
  }

  /** Shows who stands where, and waits for resources that others hold. @param mapping the pool of each role */
  async check(manager: ResourcePoolManager, mapping: Readonly<Record<string, string>>): Promise<void> {
    if (this.inline) return;
    const roles = (pool: string): string[] => Object.keys(mapping).filter((role) => mapping[role] === pool);
    const places = [...new Set(Object.values(mapping))].map((pool) => `${roles(pool).join(", ")} in ${pool}`);
    this.site.log.info(`Roles: ${places.join("; ")}.`);
    await manager.waitForResources(this.transport, {
      deadlineS: this.config.controller.start_timeout_s,
      tell: (line) => this.site.log.info(line),
      signal: this.deadline,
    });
  }

  /** Starts a group, which `close` ends. */
  async start<W extends Worker>(name: string, worker: DeferredWorker<W>, pool: ResourcePool): Promise<GroupOf<W>> {
    return this.keep(await WorkerGroup.start(worker, this.groupOptions(name, pool)));
  }

  /** Starts workers that share each rank of the pool. @returns a group for each role. */
  async startColocated(
    name: string,
    roles: Readonly<Record<string, DeferredWorker>>,
    pool: ResourcePool,
  ): Promise<Readonly<Record<string, WorkerGroup>>> {
    const all = this.keep(await WorkerGroup.start(createColocatedWorkerClass(roles), this.groupOptions(name, pool)));
    const groups = all.spawn() as Readonly<Record<string, WorkerGroup>>;
    for (const group of Object.values(groups)) this.keep(group);
    return groups;
  }

  async close(): Promise<void> {
    for (const group of this.groups.splice(0)) await group.dispose();
    await this.transport.close();
  }

  private keep<G extends Pick<WorkerGroup, "dispose">>(group: G): G {
    this.groups.push(group);
    return group;
  }

  private groupOptions(name: string, pool: ResourcePool): WorkerGroupOptions {
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
