import type { DataProto } from "../batch/data-proto.ts";
import { VerlError } from "../errors/index.ts";
import { createLogger, registries, type Logger, type MetricsSink } from "../registry/index.ts";
import { callFailure } from "./call-failure.ts";
import { ClassWithInitArgs, type DeferredWorker } from "./class-with-init-args.ts";
import type { ColocatedWorkerClass, Roles } from "./colocated.ts";
import { DataProtoFuture } from "./data-proto-future.ts";
import type { DispatchFunctions, DispatchMode, DispatchTarget } from "./dispatch.ts";
import { DispatchedCall } from "./dispatched-call.ts";
import { HEALTH_LIMITS, type HealthLimits } from "./health.ts";
import { InlineTransport } from "./inline-transport.ts";
import { registeredMethods, type MethodOptions } from "./register.ts";
import { ResourcePool } from "./resource-pool.ts";
import { SharedRanks } from "./shared-ranks.ts";
import { TRANSPORT_ENV, type Transport } from "./transport.ts";
import { thrownText } from "./thrown-text.ts";
import { watchedCall } from "./watched-call.ts";
import type { MeshPlace, Worker, WorkerClass } from "./worker.ts";

/** A batch comes back as one batch; anything else as a list with one item a rank that ran. */
type Collected<R> = R extends DataProto ? DataProtoFuture : Promise<R[]>;

/** A batch may be given as the future that another group returned. */
type Given<Args> = {
  [K in keyof Args]: [Extract<Args[K], DataProto>] extends [never] ? Args[K] : Args[K] | DataProtoFuture;
};

/** The group's side of a worker's async methods. Calls of a mode that reshapes its arguments or results otherwise go through `call`. */
export type GroupMethods<W extends Worker> = {
  readonly [K in keyof W as W[K] extends (...args: never[]) => Promise<unknown> ? K : never]: W[K] extends (
    ...args: infer Args
  ) => Promise<infer R>
    ? (...args: Given<Args>) => Collected<R>
    : never;
};

/** A worker group with the registered methods of its worker class. */
export type GroupOf<W extends Worker> = WorkerGroup & GroupMethods<W>;

/** One group a role, on the same ranks. */
export type GroupsOf<R extends Roles> = {
  readonly [K in keyof R]: R[K] extends DeferredWorker<infer W> ? GroupOf<W> : never;
};

export interface WorkerGroupOptions {
  /** Ranks, where no `pool` says it. Default 1. */
  worldSize?: number;
  /** Places of the ranks. Default: `worldSize` on one machine. */
  pool?: ResourcePool;
  /** Default: workers in this thread. */
  transport?: Transport;
  /** Name in error messages. Default: the class's name. */
  name?: string;
  /** Environment of every rank. Default: none of its own. @throws VERL_WORKER_ENV for a variable that the transport sets. */
  env?: Readonly<Record<string, string>>;
  /** What ranks elsewhere load by `loadPlugin`. Default: nothing, not even the built-ins. */
  plugins?: readonly string[];
  /** Default: stderr. */
  log?: Logger;
  /** Where metrics of the ranks go. Default: nowhere. */
  metrics?: MetricsSink;
  health?: HealthLimits;
  /** Gives the start up. */
  signal?: AbortSignal;
  /** Live objects for workers in this thread: `WorkerContext.local`. */
  local?: unknown;
}

const NO_ROLES: ReadonlyMap<string, ReadonlyMap<string, MethodOptions>> = new Map();

const NO_METRICS: MetricsSink = { add: () => undefined };

/** Workers of one class that are called together: dispatch, execute on the ranks, collect. */
export class WorkerGroup implements DispatchTarget {
  readonly worldSize: number;
  private readonly meshes = new Map<string, Promise<readonly MeshPlace[]>>();
  private disposed = false;

  private constructor(
    readonly name: string,
    private readonly shared: SharedRanks,
    private readonly methods: ReadonlyMap<string, MethodOptions>,
    /** Methods of each of the colocated workers. */
    private readonly roles: ReadonlyMap<string, ReadonlyMap<string, MethodOptions>>,
    /** What the ranks' own names of the methods begin with. */
    private readonly prefix: string,
    private readonly log: Logger,
  ) {
    this.worldSize = shared.handles.length;
    shared.join();
    for (const method of methods.keys()) {
      if (method in this) {
        throw new VerlError(
          "VERL_WORKER_METHOD_TAKEN",
          `${name}.${method} is registered, but every worker group has a "${method}" of its own.`,
          {
            hint: "Rename the worker's method.",
          },
        );
      }
      Object.defineProperty(this, method, {
        value: (...args: unknown[]) => this.call(method, ...args),
        enumerable: true,
      });
    }
  }

  /** Starts one worker a rank, each constructed with its context and `args`. */
  static create<W extends Worker, Args extends unknown[]>(
    workerClass: WorkerClass<W, Args>,
    args: Args,
    options: WorkerGroupOptions = {},
  ): Promise<GroupOf<W>> {
    return WorkerGroup.start(new ClassWithInitArgs(workerClass, ...args), options);
  }

  /** Starts several workers a rank, which share its thread or process; `spawn` gives each role a group. */
  static start<R extends Roles>(
    worker: ColocatedWorkerClass<R>,
    options?: WorkerGroupOptions,
  ): Promise<ColocatedGroup<R>>;
  /** Starts one worker a rank. */
  static start<W extends Worker>(worker: DeferredWorker<W>, options?: WorkerGroupOptions): Promise<GroupOf<W>>;
  static async start(worker: DeferredWorker, options: WorkerGroupOptions = {}): Promise<unknown> {
    const { name = worker.className, transport = new InlineTransport(), env = {}, log = createLogger() } = options;
    const taken = TRANSPORT_ENV.find((variable) => variable in env);
    if (taken !== undefined) {
      throw new VerlError("VERL_WORKER_ENV", `The environment of ${name} sets ${taken}, which the transport sets.`, {
        hint: `Leave ${TRANSPORT_ENV.join(", ")} out.`,
      });
    }
    const handles = await transport.spawn({
      name,
      worker,
      pool: options.pool ?? new ResourcePool([options.worldSize ?? 1], { name }),
      env,
      plugins: options.plugins ?? [],
      log,
      metrics: options.metrics ?? NO_METRICS,
      health: options.health ?? HEALTH_LIMITS,
      signal: options.signal ?? new AbortController().signal,
      local: options.local,
    });
    const shared = new SharedRanks(name, handles, log);
    const colocated = worker.parts.filter(({ role }) => role !== "");
    const roles = new Map(colocated.map(({ role, workerClass }) => [role, registeredMethods(workerClass)]));
    return new WorkerGroup(name, shared, worker.methods, roles, "", log);
  }

  /** Where each rank runs, in rank order: `thread 7`. */
  get workerNames(): readonly string[] {
    return this.shared.handles.map(({ place }) => place);
  }

  /**
   * A group for each role of colocated workers, with the methods' own names; all of them share the ranks, which end with the last.
   * @param roles those wanted; default: all. @throws VERL_WORKER_METHOD_UNKNOWN for a role that the workers do not have
   */
  spawn(roles?: readonly string[]): Readonly<Record<string, WorkerGroup>> {
    const wanted = roles ?? [...this.roles.keys()];
    const groups = wanted.map((role) => {
      const methods = this.roles.get(role);
      if (!methods) {
        const known = [...this.roles.keys()].join(", ");
        throw new VerlError("VERL_WORKER_METHOD_UNKNOWN", `${this.name} has no colocated worker "${role}".`, {
          hint: known === "" ? "It is a group of one worker a rank." : `Its workers are ${known}.`,
        });
      }
      const group = new WorkerGroup(`${this.name}.${role}`, this.shared, methods, NO_ROLES, `${role}_`, this.log);
      return [role, group] as const;
    });
    return Object.fromEntries(groups);
  }

  /**
   * Calls a registered method by name. A method whose mode joins batches gives a `DataProtoFuture`, which is a promise and an
   * argument for other groups at once. A failure for which nobody waits when it comes is logged as a warning, whether the method blocks
   * or not; the same holds for `executeAll` and the like.
   */
  call(method: string, ...args: unknown[]): Promise<unknown> {
    const options = this.methods.get(method);
    const mode = options && modeOf(options.dispatchMode);
    const result = this.begin(method, () => {
      // One that this group itself has still to make takes its turn before the call that needs it.
      for (const arg of args) if (arg instanceof DataProtoFuture) arg.catch(() => undefined);
      const work = (): Promise<unknown> => this.run(method, options!, mode!, args);
      return options!.blocking ? this.shared.inTurn(work) : work();
    });
    return mode?.joinsBatches ? new DataProtoFuture(result as Promise<DataProto>) : result;
  }

  /** One promise a rank, at once: argument lists of `worldSize` elements give rank i its own, anything else goes to every rank. */
  executeAllAsync(method: string, ...args: unknown[]): Promise<unknown>[] {
    const lists = this.laidOut(args);
    return this.shared.handles.map((_, rank) => this.executeAlone(rank, method, lists[rank]!));
  }

  /** As `executeAllAsync`, and waits for all ranks. */
  executeAllSync(method: string, ...args: unknown[]): Promise<unknown[]> {
    const lists = this.laidOut(args);
    const ranks = [...lists.keys()];
    return this.begin(method, () => this.executeOn(ranks, method, lists));
  }

  /** verl's name for `executeAllAsync`. */
  executeAll(method: string, ...args: unknown[]): Promise<unknown>[] {
    return this.executeAllAsync(method, ...args);
  }

  /** One rank alone, at once. */
  executeRank(rank: number, method: string, ...args: unknown[]): Promise<unknown> {
    return this.executeAlone(rank, method, args);
  }

  executeRankZeroAsync(method: string, ...args: unknown[]): Promise<unknown> {
    return this.executeAlone(0, method, args);
  }

  executeRankZeroSync(method: string, ...args: unknown[]): Promise<unknown> {
    return this.begin(method, () => this.executeOn([0], method, [args]).then(([result]) => result));
  }

  /** verl's name for `executeRankZeroAsync`. */
  executeRankZero(method: string, ...args: unknown[]): Promise<unknown> {
    return this.executeRankZeroAsync(method, ...args);
  }

  mesh(name: string): Promise<readonly MeshPlace[]> {
    let places = this.meshes.get(name);
    if (!places) {
      const ranks = this.shared.handles.map((_, rank) => this.execute(rank, "queryMesh", [name]));
      places = Promise.all(ranks) as Promise<MeshPlace[]>;
      // Asked again after a failure: a worker may stand in the mesh by then.
      places.catch(() => this.meshes.delete(name));
      this.meshes.set(name, places);
    }
    return places;
  }

  /** Ends the ranks, unless other groups still use them. */
  async dispose(): Promise<void> {
    if (this.disposed) return;
    this.disposed = true;
    await this.shared.leave();
  }

  private async run(
    method: string,
    options: MethodOptions,
    mode: DispatchFunctions,
    given: readonly unknown[],
  ): Promise<unknown> {
    const args = options.materializeFutures ? await materialize(given) : given;
    const call = new DispatchedCall(this, method, options, mode, args);
    const { lists, ranks } = await call.spread();
    return call.gather(await this.executeOn(ranks, method, lists), ranks);
  }

  private laidOut(args: readonly unknown[]): readonly (readonly unknown[])[] {
    const { worldSize } = this;
    const own =
      args.length > 0 && args.every((arg): arg is unknown[] => Array.isArray(arg) && arg.length === worldSize);
    return Array.from({ length: worldSize }, (_, rank) => (own ? args.map((arg) => arg[rank]) : args));
  }

  private executeOn(
    ranks: readonly number[],
    method: string,
    lists: readonly (readonly unknown[])[],
  ): Promise<unknown[]> {
    return this.shared.onEach(ranks, (rank) => this.execute(rank, method, lists[rank]!));
  }

  private executeAlone(rank: number, method: string, args: readonly unknown[]): Promise<unknown> {
    return this.begin(method, () => this.execute(rank, method, args));
  }

  private async execute(rank: number, method: string, args: readonly unknown[]): Promise<unknown> {
    const handle = this.shared.handles[rank];
    if (!handle) {
      throw new VerlError("VERL_DISPATCH_ARGUMENTS", `${this.name} has no rank ${rank} to call ${method} on.`, {
        hint: `Its ranks are 0 to ${this.worldSize - 1}.`,
      });
    }
    try {
      return await handle.call(this.prefix + method, await materialize(args));
    } catch (error) {
      throw callFailure({ group: this.name, rank, place: handle.place, method, args }, error);
    }
  }

  /** The promise of a call that the group lets begin. */
  private begin<T>(method: string, work: () => Promise<T>): Promise<T> {
    const refused = this.methods.has(method)
      ? this.disposed && this.disposedBefore(method)
      : this.unknownMethod(method);
    return watchedCall(refused ? Promise.reject(refused) : work(), (error) =>
      this.log.warn(`A call of ${this.name}.${method} failed, and nobody waited for it: ${thrownText(error)}`),
    );
  }

  private unknownMethod(method: string): VerlError {
    const known = [...this.methods.keys()].join(", ");
    return new VerlError("VERL_WORKER_METHOD_UNKNOWN", `${this.name} has no registered method "${method}".`, {
      hint: `Registered methods: ${known || "none"}. Mark a method with @register to call it through its group.`,
    });
  }

  private disposedBefore(method: string): VerlError {
    return new VerlError("VERL_WORKER_DIED", `${this.name} has been disposed; the call was ${method}.`, {
      hint: "Dispose a group after its last call.",
    });
  }
}

/** A group of colocated workers, which gives each role a group of its own. */
export type ColocatedGroup<R extends Roles> = Omit<WorkerGroup, "spawn"> & {
  spawn<const K extends keyof R>(roles?: readonly K[]): Pick<GroupsOf<R>, K>;
};

function modeOf(given: MethodOptions["dispatchMode"]): DispatchFunctions & Pick<DispatchMode, "joinsBatches"> {
  return typeof given === "string" ? registries.dispatch.resolve(given) : given;
}

/** The arguments with the batches in place of their futures. */
function materialize(args: readonly unknown[]): Promise<readonly unknown[]> | readonly unknown[] {
  if (!args.some((arg) => arg instanceof DataProtoFuture)) return args;
  return Promise.all(args.map((arg) => (arg instanceof DataProtoFuture ? arg.get() : arg)));
}
