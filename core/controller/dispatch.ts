import type { EntryMeta } from "../registry/entry.ts";

/** What a dispatch mode may know of the group that it serves. */
export interface DispatchTarget {
  readonly name: string;
  readonly worldSize: number;
}

/** How one call of a group becomes calls of its ranks, and their results one result. Pure. */
export interface DispatchMode extends EntryMeta {
  /** Argument list of each rank, in rank order; ranks beyond the end of the result are left out of the call. */
  dispatch(target: DispatchTarget, args: readonly unknown[]): readonly (readonly unknown[])[];
  /** @param outputs One a rank that ran, in rank order; @param args The caller's arguments, before dispatch. */
  collect(target: DispatchTarget, outputs: readonly unknown[], args: readonly unknown[]): unknown;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    dispatch: DispatchMode;
  }
}
