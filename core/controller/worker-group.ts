import { isVerlError, VerlError } from "../errors/index.ts";
import { isAbort } from "../errors/is-abort.ts";
import { createLogger, registries } from "../registry/index.ts";
import type { DataProto } from "../batch/data-proto.ts";
import type { DispatchTarget } from "./dispatch.ts";
import { registeredMethods, type RegisterOptions } from "./register.ts";
import { ClassWithInitArgs } from "./class-with-init-args.ts";
import { HEALTH_LIMITS } from "./health.ts";
import { InlineTransport } from "./inline-transport.ts";
import { ResourcePool } from "./resource-pool.ts";
import type { RankHandle, Transport } from "./transport.ts";
import type { Worker, WorkerClass } from "./worker.ts";

/** A batch comes back as one batch; anything else as a list with one item a rank that ran. */
type Collected<R> = R extends DataProto ? DataProto : R[];

/** The group's side of a worker's async methods. Calls of a mode that reshapes its arguments or results otherwise go through `call`. */
export type GroupMethods<W extends Worker> = {
  readonly [K in keyof W as W[K] extends (...args: never[]) => Promise<unknown> ? K : never]: W[K] extends (
    ...args: infer Args
  ) => Promise<infer R>
    ? (...args: Args) => Promise<Collected<R>>
    : never;
};

/** A worker group with the registered methods of its worker class. */
export type GroupOf<W extends Worker> = WorkerGroup & GroupMethods<W>;

export interface WorkerGroupOptions {
  /** Default 1. */
  worldSize?: number;
  /** Default: workers in this thread. */
  transport?: Transport;
  /** Name in error messages. Default: the class's name. */
  name?: string;
}

/** Workers of one class that are called together: dispatch, execute on the ranks, collect. */
export class WorkerGroup implements DispatchTarget {
  readonly worldSize: number;
  /** End of the last blocking call. */
  private tail: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly name: string,
    private readonly workers: readonly RankHandle[],
    private readonly methods: ReadonlyMap<string, Required<RegisterOptions>>,
  ) {
    this.worldSize = workers.length;
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

  /** Starts `worldSize` workers, each constructed with its context and `args`. */
  static async create<W extends Worker, Args extends unknown[]>(
    workerClass: WorkerClass<W, Args>,
    args: Args,
    options: WorkerGroupOptions = {},
  ): Promise<GroupOf<W>> {
    const { worldSize = 1, transport = new InlineTransport(), name = workerClass.name } = options;
    const workers = await transport.spawn({
      name,
      worker: new ClassWithInitArgs(workerClass, ...args),
      pool: new ResourcePool([worldSize], { name }),
      env: {},
      plugins: [],
      log: createLogger(),
      metrics: { add: () => undefined },
      health: HEALTH_LIMITS,
      signal: new AbortController().signal,
    });
    return new WorkerGroup(name, workers, registeredMethods(workerClass)) as GroupOf<W>;
  }

  /** Calls a registered method by name. */
  call(method: string, ...args: unknown[]): Promise<unknown> {
    const options = this.methods.get(method);
    if (!options) {
      const known = [...this.methods.keys()].join(", ");
      return Promise.reject(
        new VerlError("VERL_WORKER_METHOD_UNKNOWN", `${this.name} has no registered method "${method}".`, {
          hint: `Registered methods: ${known || "none"}. Mark a method with @register to call it through its group.`,
        }),
      );
    }
    if (!options.blocking) return this.run(method, options, args);
    const result = this.tail.then(() => this.run(method, options, args));
    this.tail = result.catch(() => undefined);
    return result;
  }

  async dispose(): Promise<void> {
    await this.tail;
    await Promise.all(this.workers.map((worker) => worker.dispose()));
  }

  private async run(method: string, options: Required<RegisterOptions>, args: readonly unknown[]): Promise<unknown> {
    const mode = registries.dispatch.resolve(options.dispatchMode);
    const lists = mode.dispatch(this, args);
    const ranks = options.executeMode === "RANK_ZERO" ? lists.slice(0, 1) : lists;
    // Every rank is waited for, so that none still runs when the caller hears of a failure.
    const settled = await Promise.allSettled(ranks.map((list, rank) => this.workers[rank]!.call(method, list)));
    const outputs = settled.map((outcome, rank): unknown => {
      if (outcome.status === "fulfilled") return outcome.value;
      throw this.failure(method, rank, outcome.reason);
    });
    return mode.collect(this, outputs, args);
  }

  /** Errors that already explain themselves, and aborts, pass as they are. */
  private failure(method: string, rank: number, reason: unknown): unknown {
    if (isVerlError(reason) || isAbort(reason)) return reason;
    const text = reason instanceof Error ? reason.message : String(reason);
    return new VerlError("VERL_WORKER_FAILED", `Rank ${rank} of ${this.name} failed in ${method}: ${text}`, {
      cause: reason,
    });
  }
}
