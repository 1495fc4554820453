import { VerlError } from "../../errors/index.ts";
import { ABORT_SIGNAL, CONFIG, inject, LOGGER, type Logger } from "../../registry/index.ts";
import { keepBeat } from "../channel/beat.ts";
import { ChannelServer } from "../channel/channel-server.ts";
import type { Link } from "../channel/dial.ts";
import { randomHex } from "../channel/handshake.ts";
import type { TcpChannel } from "../channel/tcp-channel.ts";
import type { NodeResources, Resources } from "../node-resources.ts";
import { ExchangeHub } from "../peers.ts";
import { CLOSE_LATER, closedTransport, WITH_TRANSPORT } from "../rank-end.ts";
import { startRank } from "../remote-rank.ts";
import type { RankPlace, ResourcePool } from "../resource-pool.ts";
import { rankEnv, type RankHandle, type SpawnRequest, type Transport, type TransportEntry } from "../transport.ts";
import { launchDirect } from "./launch-direct.ts";
import { launchJob } from "./launch-job.ts";
import { rankCommand } from "./rank-command.ts";
import { holderName, lostDriver, RayDriver, type RankEvent, type RankOrder } from "./ray-driver.ts";
import type { RankLine } from "./ray-rank.ts";
import { waitForRoom } from "./wait-for-room.ts";
import { addressTowards, clusterAddress, rayFaults, readTls, requireAnswer, type RayConfig } from "./ray-settings.ts";

/** Seconds without a sign of life of a rank's process, or of the way to it. */
const RANK_UNREACHABLE_S = 6;
/** Seconds after which a rank gives up a controller that it cannot reach; one that has ended is noticed at once. */
const CONTROLLER_UNREACHABLE_S = 60;
/** The default of `controller.start_timeout_s`. */
const START_TIMEOUT_S = 300;
/** How long the reason of a lost connection is waited for. */
const REASON_MS = 1500;

/**
 * As the command line does for itself (core/cli/bin.ts): batches are large arrays, made anew all the time. They lie on large pages, and
 * the memory of one that has gone serves for the next, whichever thread makes it.
 */
const MALLOC = {
  GLIBC_TUNABLES:
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=134217728:glibc.malloc.trim_threshold=536870912:glibc.malloc.arena_max=1",
};

interface Cluster {
  readonly server: ChannelServer;
  readonly driver: RayDriver;
  /** Where processes of the cluster reach this one. */
  readonly host: string;
  readonly certificate: string | undefined;
}

/**
 * Each rank in a process of its own on the machines of an existing Ray cluster. A driver in the cluster reserves a placement group for
 * each machine of a pool and starts the processes, which dial back to this one; calls and batches go over that connection alone.
 */
export class RayTransport implements Transport {
  private cluster: Promise<Cluster> | undefined;
  private readonly pools = new Map<ResourcePool, string>();
  /** Sets this run's placement groups apart from others' in the cluster. */
  private readonly run = `verl_${randomHex(4)}`;
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
    const hub = new ExchangeHub(request.pool.worldSize);
    const starting = request.pool.places.map(
      (place) => new RankStart(cluster, request, place, hub, this.order(request, place), () => this.closing),
    );
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
      own: new Set(
        request.pool.roots.flatMap((root) =>
          root.processOnNodes.map((_, node) => holderName(this.placementGroup(root, node))),
        ),
      ),
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
    for (const start of starting) start.giveUp();
    await Promise.all(handles.map((handle) => handle.dispose()));
    throw failed.reason;
  }

  async close(): Promise<void> {
    this.closing = true;
    const cluster = await this.cluster?.catch(() => undefined);
    await cluster?.driver.end();
    cluster?.server.close();
  }

  private async join(): Promise<Cluster> {
    if (this.closing) throw closedTransport();
    this.cluster ??= this.launch();
    return this.cluster;
  }

  private async launch(): Promise<Cluster> {
    const { ray } = this.config.controller;
    const at = clusterAddress(ray.address);
    const tls = readTls(ray);
    if (at.launch === "direct") await requireAnswer(at.address);
    const host = ray.host ?? (await addressTowards(at.hostname));
    const server = await ChannelServer.listen({ host, port: ray.port, tls, log: this.log });
    const link: Link = { ...server.address, host, id: "driver", secret: randomHex(32), certificate: tls?.cert };
    const connected = new Promise<TcpChannel>((resolve) => server.expect(link.id, link.secret, resolve));
    const launched =
      at.launch === "direct"
        ? launchDirect(ray.python, at.address, link)
        : await launchJob({ url: at.url, python: ray.python, run: this.run, link, log: this.log }).catch(
            (error: unknown) => {
              server.close();
              throw error;
            },
          );
    let stop: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
      stop = (): void => reject(this.signal.reason as Error);
      this.signal.addEventListener("abort", stop, { once: true });
    });
    const ended = launched.ended.then((words) => {
      throw lostDriver(words);
    });
    ended.catch(() => undefined);
    try {
      const channel = await Promise.race([connected, ended, aborted]);
      channel.trust((reason) => Promise.race([launched.ended, later(REASON_MS, reason)]));
      const driver = new RayDriver(channel, launched, this.log);
      await Promise.race([driver.ready(), ended, aborted]);
      return { server, driver, host, certificate: tls?.cert };
    } catch (error) {
      await launched.kill();
      server.close();
      throw error;
    } finally {
      this.signal.removeEventListener("abort", stop!);
    }
  }

  private poolId(root: ResourcePool): string {
    if (!this.pools.has(root)) this.pools.set(root, `${this.run}_${root.name}_${this.pools.size}`);
    return this.pools.get(root)!;
  }

  /** The name of the placement group that holds a pool's places on one machine. */
  private placementGroup(root: ResourcePool, node: number): string {
    return `${this.poolId(root)}_${node}`;
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

/** One rank from the order to its handle, and what is told of its process ever after. */
class RankStart {
  readonly order: RankOrder;
  private channel: TcpChannel | undefined;
  private where = "";
  private readonly arrived: Promise<TcpChannel>;
  private readonly over: Promise<string>;
  private settleOver!: (reason: string) => void;
  /** Settles once the process runs. */
  readonly started: Promise<void>;
  private settleStarted!: () => void;
  /** There is a place for it. */
  placed = false;

  constructor(
    private readonly cluster: Cluster,
    private readonly request: SpawnRequest,
    private readonly place: RankPlace,
    private readonly hub: ExchangeHub,
    order: Omit<RankOrder, "first_line">,
    private readonly closing: () => boolean,
  ) {
    const { server, host, certificate } = cluster;
    const own = { host, port: server.address.port, certificate, secret: randomHex(32) };
    const line: RankLine = {
      link: { ...own, id: order.id },
      beat: { ...own, id: `${order.id}/beat` },
      silentS: CONTROLLER_UNREACHABLE_S,
    };
    this.order = { ...order, first_line: JSON.stringify(line) };
    this.over = new Promise((resolve) => (this.settleOver = resolve));
    this.started = new Promise((resolve) => (this.settleStarted = resolve));
    this.arrived = new Promise((resolve) => server.expect(line.link.id, own.secret, resolve));
    server.expect(line.beat.id, own.secret, (channel) => this.watch(channel));
    void cluster.driver.gone.then((reason) => this.settleOver(`lost the driver in the Ray cluster, which ${reason}`));
  }

  /** Takes what the driver says of the process. */
  tell(event: RankEvent): void {
    if (event.type === "placed") this.placed = true;
    else if (event.type === "started") {
      this.where = `${event.ip}, process ${event.pid}`;
      this.settleStarted();
    } else if (event.type === "lost") {
      this.settleOver(`was lost with its Ray actor: ${event.reason}`);
    } else {
      const { code, tail } = event;
      const how = code < 0 ? `was ended by signal ${-code}` : code === 0 ? "ended itself" : `exited with code ${code}`;
      this.settleOver(code === 0 || tail === "" ? how : `${how}; its last lines:\n${tail}\n`);
    }
  }

  async handle(): Promise<RankHandle> {
    const { signal } = this.request;
    let abort: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
      abort = (): void => reject(signal.reason as Error);
      signal.addEventListener("abort", abort, { once: true });
      if (signal.aborted) abort();
    });
    const over = this.over.then((reason) => {
      throw this.died(reason);
    });
    over.catch(() => undefined);
    try {
      const channel = await Promise.race([this.arrived, over, aborted]);
      await Promise.race([this.started, over, aborted]);
      this.channel = channel;
      channel.trust((reason) => Promise.race([this.over, later(REASON_MS, reason)]));
      void this.over.then((reason) => channel.close(reason));
      return await startRank(this.request, this.place, {
        where: this.where,
        channel,
        hub: this.hub,
        closing: this.closing,
        kill: () => this.giveUp(),
      });
    } finally {
      signal.removeEventListener("abort", abort!);
    }
  }

  /** Ends the process, wherever its start has come to. */
  giveUp(): void {
    const { server, driver } = this.cluster;
    server.forget(this.order.id);
    server.forget(`${this.order.id}/beat`);
    driver.stop(this.order.id);
    this.channel?.close("was given up");
  }

  private watch(beat: TcpChannel): void {
    keepBeat(
      beat,
      () => RANK_UNREACHABLE_S,
      (reason) => {
        beat.close(reason, true);
        this.settleOver(reason);
      },
    );
  }

  private died(reason: string): VerlError {
    const { rank } = this.place;
    const who = `Rank ${rank} of ${this.request.name}`;
    if (this.closing()) {
      return new VerlError("VERL_WORKER_DIED", `${who} ${WITH_TRANSPORT}, before it was ready.`, {
        hint: CLOSE_LATER,
        details: { rank },
      });
    }
    return new VerlError("VERL_WORKER_DIED", `${who} ${reason} before it was ready.`, {
      hint: `The machines of the cluster need the same Node.js, package and project at the same paths as this one, and a way to it at ${this.cluster.host}:${this.cluster.server.address.port}.`,
      details: { rank, reason },
    });
  }
}

const later = <T>(milliseconds: number, value: T): Promise<T> =>
  new Promise((resolve) => setTimeout(() => resolve(value), milliseconds).unref());
