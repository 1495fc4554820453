import { setMaxListeners } from "node:events";
import type { DataProto } from "../batch/data-proto.ts";
import { VerlError } from "../errors/index.ts";
import { createLogger, type Logger, type MetricsSink } from "../registry/index.ts";
import { ClassWithInitArgs, type DeferredWorker, type WorkerPart } from "./class-with-init-args.ts";
import type { ColocatedWorkerClass, Roles } from "./colocated.ts";
import type { DataProtoFuture } from "./data-proto-future.ts";
import type { DispatchTarget } from "./dispatch.ts";
import { GroupCalls } from "./group-calls.ts";
import {
  didYouMean,
  requireArgumentList,
  requireDeferred,
  requireGroupOptions,
  requireRoleList,
  requireWorkerClass,
} from "./group-arguments.ts";
import { HEALTH_LIMITS, type HealthLimits } from "./health.ts";
import { InlineTransport } from "./inline-transport.ts";
import { kindOf, quoted } from "./kind-of.ts";
import { requireModes } from "./method-modes.ts";
import { requireNoImport } from "./rank-import.ts";
import { registeredMethods, unregisteredMethods, type MethodOptions } from "./register.ts";
import { ResourcePool } from "./resource-pool.ts";
import { SharedRanks } from "./shared-ranks.ts";
import { steadyLog } from "./steady-log.ts";
import { TRANSPORT_ENV, type Transport } from "./transport.ts";
import type { MeshPlace, Worker, WorkerClass } from "./worker.ts";

/** A batch comes back as one batch; anything else as a list with one item a rank that ran. */
type Collected<R> = R extends DataProto ? DataProtoFuture : Promise<R[]>;

/** A batch may be given as the future that another group returned. */
type Given<Args> = {
  [K in keyof Args]: [Extract<Args[K], DataProto>] extends [never] ? Args[K] : Args[K] | DataProtoFuture;
};

/**
 * The group's side of a worker's async methods, by their types alone, since decorators change none:
 * - a method without `@register` is here too, and a call of it rejects with VERL_WORKER_METHOD_UNKNOWN; `private` and `protected` ones are not;
 * - one that returns a batch is taken for one whose mode joins the ranks' batches. Methods of a mode that gives a list of batches, or reshapes
 *   arguments or results otherwise, are called by `call`, whose result the caller types.
 */
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

/** A group of colocated workers, which gives each role a group of its own. */
export type ColocatedGroup<R extends Roles> = Omit<WorkerGroup, "spawn"> & {
  spawn<const K extends keyof R>(roles?: readonly K[]): Pick<GroupsOf<R>, K>;
};

export interface WorkerGroupOptions {
  /** Ranks, where no `pool` says it. Default: 1. */
  worldSize?: number;
  /** Places of the ranks. Default: `worldSize` on one machine. */
  pool?: ResourcePool;
  /** Default: workers in this thread. */
  transport?: Transport;
  /** Name in error messages. Default: the class's name. */
  name?: string;
  /** Environment of every rank. Default: none of its own. @throws VERL_WORKER_ENV for a variable that the transport sets, or that is no text. */
  env?: Readonly<Record<string, string>>;
  /** What ranks elsewhere load by `loadPlugin`. Default: nothing, not even the built-ins. */
  plugins?: readonly string[];
  /** Default: stderr, where the lines go, too, that it fails to take. */
  log?: Logger;
  /** Where metrics of the ranks go; those that it fails to take are left out with a warning. Default: nowhere. */
  metrics?: MetricsSink;
  health?: HealthLimits;
  /** Gives the start up. */
  signal?: AbortSignal;
  /** Live objects for workers in this thread: `WorkerContext.local`. */
  local?: unknown;
}

type Methods = ReadonlyMap<string, MethodOptions>;

/** One of the colocated workers. */
interface Role {
  readonly methods: Methods;
  readonly workerClass: WorkerPart["workerClass"];
}

const NO_ROLES: ReadonlyMap<string, Role> = new Map();

const NO_METRICS: MetricsSink = { add: () => undefined };

/** Workers of one class that are called together: dispatch, execute on the ranks, collect. */
export class WorkerGroup implements DispatchTarget {
  readonly #calls: GroupCalls;
  readonly #shared: SharedRanks;
  readonly #roles: ReadonlyMap<string, Role>;
  readonly #log: Logger;
  #disposal: Promise<void> | undefined;

  private constructor(
    name: string,
    shared: SharedRanks,
    methods: Methods,
    unregistered: readonly string[],
    roles: ReadonlyMap<string, Role>,
    prefix: string,
    log: Logger,
  ) {
    this.#calls = new GroupCalls(name, shared, methods, roles, prefix, log);
    this.#shared = shared;
    this.#roles = roles;
    this.#log = log;
    shared.join();
    const define = (method: string, enumerable: boolean): void => {
      const value = (...args: unknown[]): Promise<unknown> => this.#calls.byModes(method, args);
      Object.defineProperty(this, method, { value, enumerable });
    };
    for (const method of methods.keys()) define(method, true);
    // Type-checked as the others are: the call says that it is not registered. Whoever awaits a group must not be given a `then`.
    for (const method of unregistered) if (!(method in this) && method !== "then") define(method, false);
  }

  /** Starts one worker a rank, each constructed with its context and `args`. @throws as `start` */
  static async create<W extends Worker, Args extends unknown[]>(
    workerClass: WorkerClass<W, Args>,
    args: Args,
    options: WorkerGroupOptions = {},
  ): Promise<GroupOf<W>> {
    requireWorkerClass(workerClass);
    requireArgumentList(workerClass.name, args);
    return WorkerGroup.start(new ClassWithInitArgs(workerClass, ...args), options);
  }

  /** Starts several workers a rank, which share its thread or process; `spawn` gives each role a group. */
  static start<R extends Roles>(
    worker: ColocatedWorkerClass<R>,
    options?: WorkerGroupOptions,
  ): Promise<ColocatedGroup<R>>;
  /**
   * Starts one worker a rank.
   * @throws before any has started: VERL_WORKER_ARGUMENT, VERL_REGISTRY_KEY_UNKNOWN where `@register` names a mode that there is not,
   *   VERL_WORKER_METHOD_TAKEN, VERL_WORKER_ENV, VERL_WORKER_MODULE in a rank that imports its worker's module; then what the transport's `spawn` throws.
   */
  static start<W extends Worker>(worker: DeferredWorker<W>, options?: WorkerGroupOptions): Promise<GroupOf<W>>;
  static async start(worker: DeferredWorker, options: WorkerGroupOptions = {}): Promise<unknown> {
    requireDeferred("A worker group", worker);
    requireGroupOptions(worker.className, options);
    const { name = worker.className, transport = new InlineTransport(), env = {} } = options;
    const log = steadyLog(options.log ?? createLogger());
    requireNoImport(name);
    requireVariables(name, env);
    requireFreeNames(name, worker.methods);
    requireModes(name, worker.methods);
    const { signal = new AbortController().signal } = options;
    // One listener a rank is no leak.
    setMaxListeners(Infinity, signal);
    const handles = await transport.spawn({
      name,
      worker,
      pool: options.pool ?? new ResourcePool([options.worldSize ?? 1], { name }),
      env,
      plugins: options.plugins ?? [],
      log,
      metrics: options.metrics ?? NO_METRICS,
      health: options.health ?? HEALTH_LIMITS,
      signal,
      local: options.local,
    });
    const shared = new SharedRanks(name, handles, log);
    const colocated = worker.parts.filter(({ role }) => role !== "");
    const roles = new Map(
      colocated.map(({ role, workerClass }) => [role, { methods: registeredMethods(workerClass), workerClass }]),
    );
    const alone = worker.parts.filter(({ role }) => role === "");
    const unregistered = alone.flatMap(({ workerClass }) => unregisteredMethods(workerClass));
    return new WorkerGroup(name, shared, worker.methods, unregistered, roles, "", log);
  }

  get name(): string {
    return this.#calls.name;
  }

  get worldSize(): number {
    return this.#calls.worldSize;
  }

  /** Where each rank runs, in rank order: `thread 7`. */
  get workerNames(): readonly string[] {
    return this.#shared.handles.map(({ place }) => place);
  }

  /**
   * A group for each role of colocated workers, with the methods' own names; all of them share the ranks, which end with the last.
   * @param roles those wanted, each once; default: all. @throws VERL_WORKER_ARGUMENT for what is no list,
   *   VERL_WORKER_METHOD_UNKNOWN for a role that the workers do not have, VERL_WORKER_METHOD_TAKEN, VERL_WORKER_DIED
   *   once this group is disposed or a rank has died; no group has been made then.
   */
  spawn(roles?: readonly string[]): Readonly<Record<string, WorkerGroup>> {
    const ended = this.#calls.endedBefore("spawn");
    if (ended) throw ended;
    requireRoleList(this.name, roles);
    const wanted = [...new Set(roles ?? this.#roles.keys())].map((role) => {
      const found = this.#roleOf(role);
      const own = { role, name: `${this.name}.${role}`, ...found };
      requireFreeNames(own.name, own.methods);
      return own;
    });
    const groups = wanted.map(({ role, name, methods, workerClass }) => {
      const unregistered = unregisteredMethods(workerClass);
      const group = new WorkerGroup(name, this.#shared, methods, unregistered, NO_ROLES, `${role}_`, this.#log);
      return [role, group] as const;
    });
    return Object.fromEntries(groups);
  }

  /**
   * Calls a registered method by name. A method whose mode joins batches gives a `DataProtoFuture`, which is a promise and an
   * argument for other groups at once. A call never throws: whatever is wrong with it, the promise rejects. A failure for which nobody
   * waits when it comes is logged as a warning, whether the method blocks or not; the same holds for `executeAll` and the like.
   */
  call(method: string, ...args: unknown[]): Promise<unknown> {
    return this.#calls.byModes(method, args);
  }

  /** One promise a rank, at once: argument lists of `worldSize` elements give rank i its own, anything else goes to every rank. */
  executeAllAsync(method: string, ...args: unknown[]): Promise<unknown>[] {
    return this.#calls.onEach(method, args);
  }

  /** As `executeAllAsync`, and waits for all ranks. */
  executeAllSync(method: string, ...args: unknown[]): Promise<unknown[]> {
    return this.#calls.onAll(method, args);
  }

  /** verl's name for `executeAllAsync`. */
  executeAll(method: string, ...args: unknown[]): Promise<unknown>[] {
    return this.#calls.onEach(method, args);
  }

  /** One rank alone, at once. */
  executeRank(rank: number, method: string, ...args: unknown[]): Promise<unknown> {
    return this.#calls.onRank(rank, method, args);
  }

  executeRankZeroAsync(method: string, ...args: unknown[]): Promise<unknown> {
    return this.#calls.onRank(0, method, args);
  }

  executeRankZeroSync(method: string, ...args: unknown[]): Promise<unknown> {
    return this.#calls.onRank(0, method, args);
  }

  /** verl's name for `executeRankZeroAsync`. */
  executeRankZero(method: string, ...args: unknown[]): Promise<unknown> {
    return this.#calls.onRank(0, method, args);
  }

  mesh(name: string): Promise<readonly MeshPlace[]> {
    return this.#calls.mesh(name);
  }

  /** Ends the ranks, unless other groups still use them. Again: waits for the same. A worker that fails at it is logged as a warning. */
  dispose(): Promise<void> {
    if (!this.#disposal) {
      this.#calls.close();
      this.#disposal = this.#shared.leave();
    }
    return this.#disposal;
  }

  #roleOf(role: string): Role {
    const found = this.#roles.get(role);
    if (found) return found;
    const known = [...this.#roles.keys()].join(", ");
    throw new VerlError("VERL_WORKER_METHOD_UNKNOWN", `${this.name} has no colocated worker ${quoted(role)}.`, {
      hint:
        known === ""
          ? "It is a group of one worker a rank."
          : `${didYouMean(role, this.#roles.keys())}Its workers are ${known}.`,
    });
  }
}

function requireVariables(name: string, env: Readonly<Record<string, unknown>>): void {
  const odd = Object.entries(env).find(([, value]) => typeof value !== "string");
  if (odd) {
    const message = `The environment of ${name} gives ${odd[0]} ${kindOf(odd[1])} in place of a text.`;
    throw new VerlError("VERL_WORKER_ENV", message, { hint: "Variables are texts: { LAYERS: String(3) }." });
  }
  const taken = TRANSPORT_ENV.find((variable) => variable in env);
  if (taken === undefined) return;
  throw new VerlError("VERL_WORKER_ENV", `The environment of ${name} sets ${taken}, which the transport sets.`, {
    hint: `Leave ${TRANSPORT_ENV.join(", ")} out.`,
  });
}

/** A group has its workers' methods beside its own, and is itself what a promise gives. */
function requireFreeNames(name: string, methods: Methods): void {
  if (methods.has("then")) {
    throw new VerlError(
      "VERL_WORKER_METHOD_TAKEN",
      `${name}.then is registered, but whoever awaits a group with a "then" would wait for that method.`,
      { hint: "Rename the worker's method." },
    );
  }
  const taken = [...methods.keys()].find((method) => method in WorkerGroup.prototype);
  if (taken === undefined) return;
  throw new VerlError(
    "VERL_WORKER_METHOD_TAKEN",
    `${name}.${taken} is registered, but every worker group has a "${taken}" of its own.`,
    { hint: "Rename the worker's method." },
  );
}
