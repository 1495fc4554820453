import type { DataProto } from "../batch/data-proto.ts";
import type { Logger } from "../registry/logger.ts";
import type { MetricsSink } from "../registry/metrics-sink.ts";
import { VerlError } from "../errors/index.ts";
import { alone, type Peers } from "./peers.ts";
import { register } from "./register.ts";

/** Where a worker stands among the workers of its group, and what it is given of the world. */
export interface WorkerContext {
  /** 0-based. */
  rank: number;
  worldSize: number;
  /** 0-based, among the group's workers on this machine. Default: `rank`. */
  localRank?: number;
  /** Default: `worldSize`. */
  localWorldSize?: number;
  /** What the group was given, and `RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `LOCAL_WORLD_SIZE`. Default: empty. */
  env?: Readonly<Record<string, string>>;
  /** The other ranks. Default: there are none, which only a group of one can do with. */
  peers?: Peers;
  /** Lines appear in the controller's log, and fail no call, whatever their fields are. Default: nothing is written. */
  log?: Logger;
  /**
   * Takes numbers of the call under way for the controller's step, NaN and infinite ones as they are; anything else is left out with a
   * warning. Default: they are dropped.
   */
  metrics?: MetricsSink;
  /** The other workers of this rank, by role, where several share it; those that come later in the list are not there yet. */
  colleagues?: ReadonlyMap<string, Worker>;
  /** Live objects of the controller's own thread; undefined for workers elsewhere, which make their own. */
  local?: unknown;
}

/** A worker's place in one device mesh: which share of a batch it computes, and whether its result is collected. */
export interface MeshPlace {
  /** Number of the share, from 0. */
  readonly dpRank: number;
  readonly isCollect: boolean;
}

const nothing = (): void => undefined;
const silentLog: Logger = { debug: nothing, info: nothing, warn: nothing, warnOnce: nothing };

/** One member of a `WorkerGroup`. The controller reaches the methods marked with `@register`, each of which is async. */
export abstract class Worker {
  /**
   * URL of the module that exports the class under its name, for transports that construct it elsewhere:
   * `static readonly module = import.meta.url`. Not inherited.
   */
  static readonly module?: string;

  readonly rank: number;
  readonly worldSize: number;
  readonly localRank: number;
  readonly localWorldSize: number;
  readonly env: Readonly<Record<string, string>>;
  readonly peers: Peers;
  /** The other workers of this rank, by role, where several share it (verl's fused workers). */
  protected readonly colleagues: ReadonlyMap<string, Worker>;
  protected readonly logger: Logger;
  protected readonly metrics: MetricsSink;
  private readonly meshes = new Map<string, MeshPlace>();

  constructor(context: WorkerContext) {
    const { rank, worldSize } = context;
    this.rank = rank;
    this.worldSize = worldSize;
    this.localRank = context.localRank ?? rank;
    this.localWorldSize = context.localWorldSize ?? worldSize;
    this.env = context.env ?? {};
    this.peers = context.peers ?? alone;
    this.colleagues = context.colleagues ?? new Map<string, Worker>();
    this.logger = context.log ?? silentLog;
    this.metrics = context.metrics ?? { add: nothing };
  }

  /** Frees what the worker holds; called once, when its group is disposed. */
  dispose(): void | Promise<void> {}

  /**
   * Says where this worker stands in a device mesh, for the nd dispatch modes: workers with the same `dpRank` get the same share of a
   * batch, and the result of one of them, the one with `isCollect`, is taken. Called in the constructor or in a method that runs
   * before the first call by that mesh. @throws VERL_WORKER_MESH when the mesh is known already.
   */
  protected registerDispatchCollectInfo(mesh: string, dpRank: number, isCollect: boolean): void {
    if (this.meshes.has(mesh)) {
      throw new VerlError("VERL_WORKER_MESH", `The mesh "${mesh}" is registered on rank ${this.rank} already.`);
    }
    this.meshes.set(mesh, { dpRank, isCollect });
  }

  /** What `registerDispatchCollectInfo` was told. @throws VERL_WORKER_MESH for an unknown mesh. */
  @register({ dispatchMode: "ONE_TO_ALL", blocking: false })
  async queryMesh(mesh: string): Promise<MeshPlace> {
    const place = this.meshes.get(mesh);
    if (place) return Promise.resolve(place);
    throw new VerlError("VERL_WORKER_MESH", `Rank ${this.rank} does not stand in a mesh "${mesh}".`, {
      hint: `Call registerDispatchCollectInfo("${mesh}", dpRank, isCollect) in the worker. Known: ${[...this.meshes.keys()].join(", ") || "none"}.`,
    });
  }

  /**
   * Runs a function on each rank with this worker and the rank's share of the batches: verl's `execute_with_func_generator`. For ranks in
   * the controller's own thread alone: elsewhere the call fails with VERL_WORKER_PAYLOAD, since a function does not cross.
   */
  @register({ dispatchMode: "DP_COMPUTE_PROTO_WITH_FUNC" })
  async executeWithFunc(
    work: (worker: this, ...args: unknown[]) => Promise<DataProto>,
    ...args: unknown[]
  ): Promise<DataProto> {
    return work(this, ...args);
  }

  /** Runs a function on the first rank alone: verl's `execute_func_rank_zero`. As `executeWithFunc`, in the controller's own thread. */
  @register({ dispatchMode: "ONE_TO_ALL", executeMode: "RANK_ZERO" })
  async executeFuncRankZero<T>(work: (worker: this, ...args: unknown[]) => Promise<T>, ...args: unknown[]): Promise<T> {
    return work(this, ...args);
  }
}

/** A worker class: the context first, then what the caller of `WorkerGroup.create` hands over. */
export type WorkerClass<W extends Worker = Worker, Args extends unknown[] = unknown[]> = (new (
  context: WorkerContext,
  ...args: Args
) => W) & { readonly module?: string };

/** Under `Symbol.for`, so that a worker class of another copy of this package is known as one. */
const WORKER = Symbol.for("verl.worker");

Object.defineProperty(Worker.prototype, WORKER, { value: true });

export const isWorkerClass = (value: unknown): value is WorkerClass =>
  typeof value === "function" && typeof value.prototype === "object" && WORKER in (value.prototype ?? {});
