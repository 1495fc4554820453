import type { ErrorCode } from "../errors/index.ts";
import type { ClassEntry } from "../registry/entry.ts";
import type { Logger } from "../registry/logger.ts";
import type { MetricsSink } from "../registry/metrics-sink.ts";
import type { DeferredWorker } from "./class-with-init-args.ts";
import type { GroupCall } from "./group-call.ts";
import type { HealthEvent, HealthLimits } from "./health.ts";
import type { NodeResources } from "./node-resources.ts";
import type { RankPlace, ResourcePool } from "./resource-pool.ts";

/** What a transport needs to start the ranks of one worker group. */
export interface SpawnRequest {
  /** Name of the group, for messages and for the names of threads and processes: `actor_rollout`. */
  readonly name: string;
  /** Class and constructor arguments, the same for every rank; the context comes first, and differs. */
  readonly worker: DeferredWorker;
  /** Where the ranks run: one for each place of the pool, in rank order. Groups of one pool stand side by side in its places. */
  readonly pool: ResourcePool;
  /**
   * Environment of every rank, over what the transport sets itself (`RANK`, `WORLD_SIZE`, `LOCAL_RANK`, `LOCAL_WORLD_SIZE`), with
   * which it must not collide.
   */
  readonly env: Readonly<Record<string, string>>;
  /** What a rank loads by `loadPlugin`, in this order: packages and `file:` URLs; `verl/plugins` are the built-ins. */
  readonly plugins: readonly string[];
  /** Where the ranks' own log lines go. */
  readonly log: Logger;
  /** Where the ranks' own metrics go: each arrives before the result of the call that reported it. */
  readonly metrics: MetricsSink;
  readonly health: HealthLimits;
  /** Gives the start up: whatever was started by then is ended, and `spawn` rejects with the signal's reason. */
  readonly signal: AbortSignal;
  /**
   * Live objects for workers in the controller's own thread, in place of their own: `WorkerContext.local`. Only a transport without
   * a border passes them on.
   */
  readonly local?: unknown;
}

/** One rank as the controller sees it, wherever it lives. */
export interface RankHandle {
  readonly rank: number;
  /** Where it runs, for messages: `thread 7`, `10.0.0.3, process 4711`. */
  readonly place: string;
  /**
   * Calls a registered method. Arguments and result cross by `payload.ts`: batches as Arrow bytes, arrays as bytes, the rest as JSON;
   * an `AbortSignal` is followed over there.
   * @param call the group's call that this is a part of, to which the exchanges belong that the method makes with other ranks
   * @throws what the method threw, with the rank's own stack; VERL_WORKER_DIED once the rank is gone;
   *   VERL_WORKER_PAYLOAD for what cannot cross.
   */
  call(method: string, args: readonly unknown[], call: GroupCall): Promise<unknown>;
  /**
   * Another rank of the group has failed: exchanges of `Worker.peers` that this one makes in the call, now or later, fail.
   * @param reason in words that complete "…, but": `rank 1 failed: no such layer`
   * @param call may not have reached the rank yet. Default: every call under way, and the exchanges outside of calls.
   */
  interrupt(reason: string, call?: GroupCall): void;
  /** Told of every change of the rank's health; of an earlier death at once. */
  onHealth(listener: (event: HealthEvent) => void): void;
  /** Lets the worker dispose itself, then ends its thread or process; one that does not end within seconds is killed. Again: nothing. */
  dispose(): Promise<void>;
}

/**
 * Starts ranks and carries calls to them. One instance a run. An entry of the kind `transport` is its class; a transport that reaches
 * its ranks by messages needs only a `RankChannel` for each: `startRank` is the controller's side of it, `serveRank` the rank's.
 */
export interface Transport {
  /** What there is to place ranks on, and who holds what of it. Read before the start, for the resource plan. */
  resources(): Promise<readonly NodeResources[]>;
  /**
   * Starts one rank a place of the pool and returns when each has constructed its worker. All or none: when one fails, the others are
   * ended before this rejects.
   * @throws VERL_WORKER_FAILED with rank and class for what the worker's constructor threw, under its own code where it has one;
   *   VERL_WORKER_DIED when a rank ended before it was ready, and after `close`; VERL_CONTROLLER_POOL when there was no room for them in time.
   */
  spawn(request: SpawnRequest): Promise<readonly RankHandle[]>;
  /** Ends what is left: ranks, processes, reservations. Called once, when the run ends, whatever ended it. */
  close(): Promise<void>;
}

/** Variables that every transport sets for its ranks. */
export const TRANSPORT_ENV: readonly string[] = ["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"];

/** The environment that says where a rank stands; every transport sets it. */
export function rankEnv({ rank, localRank, localWorldSize }: RankPlace, worldSize: number): Record<string, string> {
  return {
    RANK: String(rank),
    WORLD_SIZE: String(worldSize),
    LOCAL_RANK: String(localRank),
    LOCAL_WORLD_SIZE: String(localWorldSize),
  };
}

/** What is wrong with a value of the config. */
export interface ConfigFault {
  readonly code: ErrorCode;
  /** Dotted path of the value. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
  readonly cause?: unknown;
}

/** The entry of a transport. */
export interface TransportEntry extends ClassEntry<Transport> {
  /** True where every rank runs on the trainer's own machine, so that a config of several machines is refused. Default: false. */
  readonly oneMachine?: boolean;
  /**
   * Looks through the config of a run that chooses this transport, before anything is started.
   * @param known the value at a dotted path; undefined where it is wrong by itself, or in doubt
   */
  checkConfig?(known: (path: string) => unknown): readonly ConfigFault[];
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    transport: TransportEntry;
  }
}
