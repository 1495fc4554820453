/** One call of a group, the same for all ranks on which it runs. */
export interface GroupCall {
  /** Counts the calls on the group's ranks from 1. */
  readonly id: number;
  /** Calls that overlap have different lanes; one that has ended on every rank leaves its lane to a later one. */
  readonly lane: number;
  /** True where it runs on every rank, so that the ranks may exchange in it. */
  readonly whole: boolean;
}

/** What goes on outside of calls, such as the work of a constructor. */
export const OUTSIDE: GroupCall = { id: 0, lane: -1, whole: true };

/** What is kept for the calls under way, one a lane. A call that is new in its lane takes the place of the one before, which is over. */
export class CallLanes<S> {
  private readonly lanes = new Map<number, { readonly id: number; readonly state: S }>();

  constructor(private readonly make: () => S) {}

  /** What is kept for the call, from its first mention on; undefined once its lane is another's. */
  at({ id, lane }: Pick<GroupCall, "id" | "lane">): S | undefined {
    const known = this.lanes.get(lane);
    if (known && known.id >= id) return known.id === id ? known.state : undefined;
    const state = this.make();
    this.lanes.set(lane, { id, state });
    return state;
  }

  /** Of every call that has a lane. */
  all(): S[] {
    return Array.from(this.lanes.values(), ({ state }) => state);
  }
}
