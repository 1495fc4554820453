import type { EntryMeta } from "../registry/entry.ts";
import { registerDispatch } from "../registry/index.ts";
import type { MeshPlace } from "./worker.ts";

/** What a dispatch mode may know of the group that it serves. */
export interface DispatchTarget {
  readonly name: string;
  readonly worldSize: number;
  /**
   * Where each rank stands in a device mesh, in rank order. The ranks are asked once, at the first call by that mesh.
   * @throws VERL_WORKER_MESH when a rank does not stand in it.
   */
  mesh(name: string): Promise<readonly MeshPlace[]>;
}

/** Argument list of each rank, in rank order. */
export type RankArguments = readonly (readonly unknown[])[];

/** How one call of a group becomes calls of its ranks, and their results one result. */
export interface DispatchFunctions {
  /** Argument list of each rank, in rank order; ranks beyond the end of the result are left out of the call. */
  dispatch(target: DispatchTarget, args: readonly unknown[]): RankArguments | Promise<RankArguments>;
  /**
   * @param outputs One a rank that ran, in rank order.
   * @param args The caller's arguments, before dispatch. @param ranks The ranks that ran. @returns the result, or a promise of it.
   */
  collect(
    target: DispatchTarget,
    outputs: readonly unknown[],
    args: readonly unknown[],
    ranks: readonly number[],
  ): unknown;
}

/** A dispatch mode. Pure: what it gives depends on its arguments alone. */
export interface DispatchMode extends EntryMeta, DispatchFunctions {
  /** True where `collect` joins the ranks' batches to one; every rank that has been given a batch runs then. */
  readonly joinsBatches?: boolean;
}

/** Which ranks run a call. */
export interface ExecuteMode extends EntryMeta {
  /**
   * Ranks among those that the dispatch mode has arguments for: at least one, none twice. They run in rank order.
   * @param count of these.
   */
  ranks(count: number): readonly number[];
}

/** Registers a dispatch mode by its functions: verl's `register_dispatch_mode`. Taken names are refused. */
export function registerDispatchMode(name: string, mode: DispatchFunctions & Partial<EntryMeta>): void {
  registerDispatch(name, described(name, mode));
}

/** Puts another dispatch mode under a name that may be taken: verl's `update_dispatch_mode`. */
export function updateDispatchMode(name: string, mode: DispatchFunctions & Partial<EntryMeta>): void {
  registerDispatch(name, described(name, mode), { override: true });
}

/** What is no mode becomes one without functions, which the registry refuses. */
const described = (name: string, mode: DispatchFunctions & Partial<EntryMeta>): DispatchMode => ({
  description: `The dispatch mode ${name} of this program.`,
  ...mode,
});

declare module "../registry/entry.ts" {
  interface EntryOf {
    dispatch: DispatchMode;
    execute: ExecuteMode;
  }
}
