import { setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { ABORT_SIGNAL, CONFIG, inject, LOGGER, type Logger } from "../../registry/index.ts";
import { randomHex } from "../channel/handshake.ts";
import type { NodeResources, Resources } from "../node-resources.ts";
import { ExchangeHub } from "../peers.ts";
import { closedTransport } from "../rank-end.ts";
import type { RankPlace, ResourcePool } from "../resource-pool.ts";
import { rankEnv, type RankHandle, type SpawnRequest, type Transport, type TransportEntry } from "../transport.ts";
import { joinCluster, type Cluster } from "./cluster.ts";
import { rankCommand } from "./rank-command.ts";
import { RankStart } from "./rank-start.ts";
import { holderName, type RankOrder, type RayDriver } from "./ray-driver.ts";
import { rayFaults, type RayConfig } from "./ray-settings.ts";
import { waitForRoom } from "./wait-for-room.ts";

/** The default of `controller.start_timeout_s`. */
const START_TIMEOUT_S = 300;
/** How long a start that has failed may wait for its places to be free again, and how often it looks. */
const GIVE_BACK_MS = 8000;
const LOOK_AGAIN_MS = 100;
/**
 * As the command line does for itself (core/cli/bin.ts): batches are large arrays, made anew all the time. They lie on large pages, and
 * the memory of one that has gone serves for the next, whichever thread makes it.
 */
const MALLOC = {
  GLIBC_TUNABLES:
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=134217728:glibc.malloc.trim_threshold=536870912:glibc.malloc.arena_max=1",
};

/**
 * Each rank in a process of its own on the machines of an existing Ray cluster. A driver in the cluster reserves a placement group for
 * each machine of a pool and starts the processes, which dial back to this one; calls and batches go over that connection alone.
 */
export class RayTransport implements Transport {
  private cluster: Promise<Cluster> | undefined;
  private readonly pools = new Map<ResourcePool, string>();
  /** Sets this run's placement groups apart from others' in the cluster. */
  private readonly run = `verl_${randomHex(4)}`;
  /** Ranks whose processes have not ended, and the pools that they stand in. */
  private readonly standing = new Map<RankStart, readonly ResourcePool[]>();
  private nextRank = 0;
  private closing = false;

  /** For its entry's `checkConfig`. */
  static readonly checkConfig: NonNullable<TransportEntry["checkConfig"]> = rayFaults;

  constructor(
    @inject(CONFIG)
    private readonly config: { readonly controller: { readonly ray: RayConfig; readonly start_timeout_s?: number } },
    @inject(LOGGER) private readonly log: Logger,
    @inject(ABORT_SIGNAL) private readonly signal: AbortSignal,
  ) {}

  async resources(): Promise<readonly NodeResources[]> {
    const { driver } = await this.join();
    return driver.nodes();
  }

  async spawn(asked: SpawnRequest): Promise<readonly RankHandle[]> {
    const cluster = await this.join();
    const noRoom = new AbortController();
    const request = { ...asked, signal: AbortSignal.any([asked.signal, noRoom.signal]) };
    // One listener a rank is no leak.
    setMaxListeners(Infinity, request.signal);
    const hub = new ExchangeHub(request.pool.worldSize);
    const starting = request.pool.places.map(
      (place) => new RankStart(cluster, request, place, hub, this.order(request, place), () => this.closing),
    );
    for (const start of starting) {
      this.standing.set(start, request.pool.roots);
      void start.over.then(() => this.standing.delete(start));
    }
    cluster.driver.start(
      starting.map(({ order }) => order),
      (id, event) => starting.find(({ order }) => order.id === id)?.tell(event),
    );
    const room = new AbortController();
    void Promise.all(starting.map(({ started }) => started)).then(() => room.abort());
    waitForRoom({
      name: request.name,
      pool: request.pool,
      nodes: () => cluster.driver.nodes().catch(() => undefined),
      own: new Set(request.pool.roots.flatMap((root) => this.holders(root))),
      placed: () => starting.every(({ placed }) => placed),
      deadlineS: this.config.controller.start_timeout_s ?? START_TIMEOUT_S,
      log: request.log,
      over: room.signal,
    }).catch((error: unknown) => noRoom.abort(error));
    const settled = await Promise.allSettled(starting.map((start) => start.handle()));
    room.abort();
    const failed = settled.find((start) => start.status === "rejected");
    const handles = settled.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
    if (!failed) return handles;
    for (const start of starting) {
      this.standing.delete(start);
      start.giveUp();
    }
    await Promise.all(handles.map((handle) => handle.dispose()));
    // Whoever gave it up waits for nothing.
    if (!asked.signal.aborted && !this.closing) await this.givenBack(cluster.driver, request.pool);
    throw failed.reason;
  }

  /** Waits for seconds at most until the places of a pool are free in which nobody stands: the next start may need them. */
  private async givenBack(driver: RayDriver, { roots }: ResourcePool): Promise<void> {
    const used = new Set([...this.standing.values()].flat());
    const leaving = new Set(roots.filter((root) => !used.has(root)).flatMap((root) => this.holders(root)));
    const over = new AbortController();
    const free = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const nodes = await driver.nodes().catch(() => []);
        if (!nodes.some(({ holders }) => holders.some(({ who }) => leaving.has(who)))) return;
        await pause(LOOK_AGAIN_MS);
      }
    };
    await Promise.race([free(), pause(GIVE_BACK_MS, undefined, { signal: over.signal }).catch(() => undefined)]);
    over.abort();
  }

  async close(): Promise<void> {
    this.closing = true;
    const cluster = await this.cluster?.catch(() => undefined);
    await cluster?.driver.end();
    cluster?.server.close();
  }

  private async join(): Promise<Cluster> {
    if (this.closing) throw closedTransport();
    this.cluster ??= joinCluster(this.config.controller.ray, this.run, this.log, this.signal);
    return this.cluster;
  }

  private poolId(root: ResourcePool): string {
    if (!this.pools.has(root)) this.pools.set(root, `${this.run}_${root.name}_${this.pools.size}`);
    return this.pools.get(root)!;
  }

  /** The name of the placement group that holds a pool's places on one machine. */
  private placementGroup(root: ResourcePool, node: number): string {
    return `${this.poolId(root)}_${node}`;
  }

  /** How a pool's placement groups are called among the holders of resources. */
  private holders(root: ResourcePool): string[] {
    return root.processOnNodes.flatMap((_, node) =>
      [false, true].map((leaving) => holderName(this.placementGroup(root, node), this.run, leaving)),
    );
  }

  private order(request: SpawnRequest, place: RankPlace): Omit<RankOrder, "first_line"> {
    const { root, node } = place;
    const id = `${this.nextRank++}`;
    const here = root.places.filter((other) => other.node === node);
    return {
      id,
      pool: this.poolId(root),
      group: { id: this.placementGroup(root, node), bundles: here.map(() => root.perPlace) },
      bundle: root.places[place.bundle]!.localRank,
      resources: share(root),
      argv: rankCommand(),
      env: { ...MALLOC, ...request.env, ...rankEnv(place, request.pool.worldSize) },
      cwd: process.cwd(),
    };
  }
}

/** What one of the groups that stand side by side in a place holds of it. Ray divides units of a device, but not several. */
function share({ perPlace, maxColocateCount }: ResourcePool): Resources {
  const part = (amount: number): number => {
    const exact = amount / maxColocateCount;
    return exact >= 1 ? Math.floor(exact) : Math.floor(exact * 1e4) / 1e4;
  };
  return Object.fromEntries(Object.entries(perPlace).map(([name, amount]) => [name, part(amount)]));
}
