import type { DataProto } from "../batch/data-proto.ts";
import { isVerlError, VerlError } from "../errors/index.ts";
import type { Logger } from "../registry/index.ts";
import { callFailure } from "./call-failure.ts";
import { DataProtoFuture } from "./data-proto-future.ts";
import type { DispatchTarget } from "./dispatch.ts";
import { DispatchedCall } from "./dispatched-call.ts";
import { didYouMean } from "./group-arguments.ts";
import type { GroupCall } from "./group-call.ts";
import { kindOf, quoted } from "./kind-of.ts";
import { joinsBatches } from "./method-modes.ts";
import { disposedGroup } from "./rank-end.ts";
import { refusedArguments } from "./refused-arguments.ts";
import type { MethodOptions } from "./register.ts";
import type { SharedRanks } from "./shared-ranks.ts";
import { thrownText } from "./thrown-text.ts";
import { watchedCall } from "./watched-call.ts";
import type { MeshPlace } from "./worker.ts";

/** The method of every worker that tells where it stands in a mesh. */
const QUERY = "queryMesh";

/** Calls of registered methods on ranks that other groups may share. None throws: whatever is wrong with a call, its promise rejects. */
export class GroupCalls implements DispatchTarget {
  readonly worldSize: number;
  private readonly meshes = new Map<string, Promise<readonly MeshPlace[]>>();
  private closed = false;

  /**
   * @param prefix what the ranks' own names of the methods begin with.
   * @param roles the colocated workers, whose methods' names in `methods` begin with the role
   */
  constructor(
    readonly name: string,
    private readonly shared: SharedRanks,
    private readonly methods: ReadonlyMap<string, MethodOptions>,
    private readonly roles: ReadonlyMap<string, { readonly methods: ReadonlyMap<string, MethodOptions> }>,
    private readonly prefix: string,
    private readonly log: Logger,
  ) {
    this.worldSize = shared.handles.length;
  }

  /** Spread, run and collected by the modes of the method; a `DataProtoFuture` where these join batches. */
  byModes(method: string, args: readonly unknown[]): Promise<unknown> {
    const options = this.methods.get(method);
    const result = this.begin(method, () => {
      let waits = true;
      const work = (): Promise<unknown> => this.run(method, options!, args, () => (waits = false));
      const watched = (result: Promise<unknown>): Promise<unknown> =>
        this.shared.whileWaiting(this.prefix + method, result, () => waits);
      if (!options!.blocking) return watched(work());
      // What has still to be made may take this group to make it. One that fails does so in the call.
      const unmade = args.filter((arg) => arg instanceof DataProtoFuture && !arg.begun);
      const make = (): Promise<unknown> => Promise.allSettled(unmade);
      return watched(this.shared.turns.take(work, unmade.length > 0 ? make : undefined));
    });
    return options && joinsBatches(options) ? new DataProtoFuture(result as Promise<DataProto>) : result;
  }

  /** One promise a rank, at once. */
  onEach(method: string, args: readonly unknown[]): Promise<unknown>[] {
    const lists = this.laidOut(args);
    let parts: Promise<unknown>[] | undefined;
    const begun = (): Promise<unknown>[] =>
      (parts ??= this.shared.begin([...lists.keys()], this.prefix + method, (rank, call) =>
        this.execute(call, rank, method, lists[rank]!),
      ));
    return lists.map((_, rank) => this.begin(method, () => begun()[rank]!));
  }

  /** On all ranks, to the end. */
  onAll(method: string, args: readonly unknown[]): Promise<unknown[]> {
    const lists = this.laidOut(args);
    return this.begin(method, () => this.together([...lists.keys()], method, lists));
  }

  /** On one rank, at once. */
  onRank(rank: number, method: string, args: readonly unknown[]): Promise<unknown> {
    const work = (): Promise<unknown> =>
      this.shared.begin([rank], this.prefix + method, (_, call) => this.execute(call, rank, method, args))[0]!;
    return this.begin(method, work);
  }

  /** @throws VERL_WORKER_METHOD_UNKNOWN for a group of colocated workers, each of which stands in meshes of its own */
  mesh(name: string): Promise<readonly MeshPlace[]> {
    return this.begin(QUERY, () => this.placesIn(name, QUERY));
  }

  /** No call begins any more. */
  close(): void {
    this.closed = true;
  }

  /** Why nothing can be asked of the group any more, where that is so. */
  endedBefore(method: string): VerlError | undefined {
    return this.closed ? disposedGroup(this.name, method) : this.shared.diedBefore(method);
  }

  /** @param begins is called as the ranks begin */
  private async run(
    method: string,
    options: MethodOptions,
    given: readonly unknown[],
    begins: () => void,
  ): Promise<unknown> {
    const args = options.materializeFutures ? await this.materialize(method, given) : given;
    const query = this.besideOf(method, QUERY);
    const target = { name: this.name, worldSize: this.worldSize, mesh: (mesh: string) => this.placesIn(mesh, query) };
    const call = new DispatchedCall(target, method, options, args);
    const { lists, ranks } = await call.spread();
    begins();
    return call.gather(await this.together(ranks, method, lists), ranks);
  }

  /** Asks the ranks once. @param query the method that tells where the worker stands */
  private placesIn(mesh: string, query: string): Promise<readonly MeshPlace[]> {
    if (typeof mesh !== "string") {
      const message = `${this.name} is asked for a mesh that is ${kindOf(mesh)}.`;
      return Promise.reject(new VerlError("VERL_WORKER_MESH", message, { hint: "A mesh is named by a text." }));
    }
    const key = `${query} ${mesh}`;
    let places = this.meshes.get(key);
    if (!places) {
      const ranks = [...this.shared.handles.keys()];
      const asked = this.shared.begin(ranks, this.prefix + query, (rank, call) =>
        this.execute(call, rank, query, [mesh]),
      );
      places = Promise.all(asked) as Promise<MeshPlace[]>;
      // Asked again after a failure: a worker may stand in the mesh by then.
      places.catch(() => this.meshes.delete(key));
      this.meshes.set(key, places);
    }
    return places;
  }

  /** The group's name for another method of the worker that has this one. */
  private besideOf(method: string, other: string): string {
    const role = [...this.roles].find(
      ([name, { methods }]) => method.startsWith(`${name}_`) && methods.has(method.slice(name.length + 1)),
    )?.[0];
    return role === undefined ? other : `${role}_${other}`;
  }

  /** Argument lists of `worldSize` elements give rank i its own, anything else goes to every rank. */
  private laidOut(args: readonly unknown[]): readonly (readonly unknown[])[] {
    const { worldSize } = this;
    const own =
      args.length > 0 && args.every((arg): arg is unknown[] => Array.isArray(arg) && arg.length === worldSize);
    return Array.from({ length: worldSize }, (_, rank) => (own ? args.map((arg) => arg[rank]) : args));
  }

  private together(
    ranks: readonly number[],
    method: string,
    lists: readonly (readonly unknown[])[],
  ): Promise<unknown[]> {
    return this.shared.onEach(ranks, this.prefix + method, (rank, call) =>
      this.execute(call, rank, method, lists[rank]!),
    );
  }

  private async execute(call: GroupCall, rank: number, method: string, args: readonly unknown[]): Promise<unknown> {
    const handle = Number.isInteger(rank) ? this.shared.handles[rank] : undefined;
    if (!handle) {
      const given = typeof rank === "number" ? rank : `that is ${kindOf(rank)}`;
      throw new VerlError("VERL_DISPATCH_ARGUMENTS", `${this.name} has no rank ${given} to call ${method} on.`, {
        hint: `Its ranks are 0 to ${this.worldSize - 1}.`,
      });
    }
    const made = await this.materialize(method, args);
    try {
      return await handle.call(this.prefix + method, made, call);
    } catch (error) {
      throw callFailure({ group: this.name, rank, place: handle.place, method, args }, error);
    }
  }

  /** The arguments with the batches in place of their futures. @throws what one of these fails with, which is no rank's fault */
  private async materialize(method: string, args: readonly unknown[]): Promise<readonly unknown[]> {
    if (!args.some((arg) => arg instanceof DataProtoFuture)) return args;
    try {
      return await Promise.all(args.map((arg) => (arg instanceof DataProtoFuture ? arg.get() : arg)));
    } catch (error) {
      // One that another call failed with says which.
      if (!isVerlError(error) || (error.details && "method" in error.details)) throw error;
      throw refusedArguments(error, `${this.name}.${method}`, { method });
    }
  }

  /** The promise of a call that the group lets begin. */
  private begin<T>(method: string, work: () => Promise<T>): Promise<T> {
    const refused = this.methods.has(method)
      ? this.closed && disposedGroup(this.name, method)
      : this.unknownMethod(method);
    return watchedCall(refused ? Promise.reject(refused) : work(), (error) => {
      const call = typeof method === "string" ? `${this.name}.${method}` : this.name;
      this.log.warn(`A call of ${call} failed, and nobody waited for it: ${thrownText(error)}`);
    });
  }

  /** @param method may be no name at all in a program that is not type-checked */
  private unknownMethod(method: string): VerlError {
    const known = [...this.methods.keys()].join(", ");
    return new VerlError("VERL_WORKER_METHOD_UNKNOWN", `${this.name} has no registered method ${quoted(method)}.`, {
      hint: `${didYouMean(method, this.methods.keys())}Registered methods: ${known || "none"}. Mark a method with @register to call it through its group.`,
    });
  }
}
