import type { VerlError } from "../errors/index.ts";
import type { Logger } from "../registry/index.ts";
import type { GroupCall } from "./group-call.ts";
import type { HealthEvent } from "./health.ts";
import { deadRank, disposedGroup } from "./rank-end.ts";
import { thrownText } from "./thrown-text.ts";
import type { RankHandle } from "./transport.ts";
import { Turns } from "./turns.ts";

/** Seconds that calls under way have when the ranks are to end. */
const LEAVE_S = 10;

/** What one rank does of a call. */
type RankWork = (rank: number, call: GroupCall) => Promise<unknown>;

/** What groups on the same ranks share: the ranks, whose turn it is, and whether one of them has died. */
export class SharedRanks {
  /** Of blocking calls: the ranks do one after the other, whatever group asks. */
  readonly turns = new Turns();
  /** Calls that have begun. */
  private calls = 0;
  /** Lanes of the calls under way. */
  private readonly lanes = new Set<number>();
  /** Groups that have joined and not left. */
  private users = 0;
  /** The first rank that died. */
  private death: HealthEvent | undefined;
  /** Ends each call that is under way or waits, where a rank dies or the last group leaves. */
  private readonly ends = new Set<(why: (method: string) => VerlError) => void>();

  /** @param name of the first group, for messages about the ranks. */
  constructor(
    private readonly name: string,
    readonly handles: readonly RankHandle[],
    private readonly log: Logger,
  ) {
    for (const handle of handles) handle.onHealth((event) => this.note(event));
  }

  join(): void {
    this.users += 1;
  }

  /** Ends the ranks, unless other groups still use them. Calls under way have some seconds to end; those that wait for other ranks give up then. */
  async leave(): Promise<void> {
    this.users -= 1;
    if (this.users > 0) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), LEAVE_S * 1000)));
    // After a death no call has anything to wait for.
    const isOver = this.death === undefined && (await Promise.race([this.turns.end, late])) !== "late";
    if (!isOver) this.interrupt("the group is disposed");
    clearTimeout(timer);
    await Promise.all(this.handles.map((handle) => handle.dispose()));
    for (const end of this.ends) end((method) => disposedGroup(this.name, method));
  }

  /**
   * The result of a call that waits: for its turn, or for another group, which may take long. Where a rank has died or dies meanwhile, it
   * fails at once.
   * @param waits false once the ranks do the call, whose end `begin` watches
   */
  whileWaiting<T>(method: string, result: Promise<T>, waits: () => boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const end = (why: (method: string) => VerlError): void => {
        if (waits()) reject(why(method));
      };
      this.ends.add(end);
      result.then(resolve, reject).finally(() => this.ends.delete(end));
      const { death } = this;
      if (death) end((asked) => this.lost(death, asked));
    });
  }

  /** Why nothing can be asked of the ranks any more, where one has died. */
  diedBefore(method: string): VerlError | undefined {
    return this.death && this.lost(this.death, method);
  }

  /**
   * Does the work on some ranks at once, as one call. Where one fails, those that wait for it in this call are told not to. Where any
   * rank has died or dies meanwhile, even one that has done its part, all that is not done by then fails: nothing says that it ends.
   * @param method what the ranks are asked to do, for messages
   * @returns one promise a rank, in the order given
   */
  begin(ranks: readonly number[], method: string, work: RankWork): Promise<unknown>[] {
    const { death } = this;
    if (death) return ranks.map(() => Promise.reject(this.lost(death, method)));
    const call = { id: ++this.calls, lane: this.takeLane(), whole: new Set(ranks).size === this.handles.length };
    // In a call that is not on every rank, none waits for others.
    let told = !call.whole || this.handles.length === 1;
    const parts = ranks.map((rank) =>
      work(rank, call).catch((error: unknown) => {
        if (!told) this.interrupt(`rank ${rank} failed: ${thrownText(error)}`, call);
        told = true;
        throw error;
      }),
    );
    const lost = new Promise<never>((_, reject) => {
      const end = (why: (method: string) => VerlError): void => reject(why(method));
      this.ends.add(end);
      // A rank that lives may still be at its part when the call has failed, and keeps the lane.
      void Promise.allSettled(parts).then(() => {
        this.lanes.delete(call.lane);
        this.ends.delete(end);
      });
    });
    return parts.map((part) => Promise.race([part, lost]));
  }

  /**
   * As `begin`, to the end. Every rank is waited for, so that none still runs when the caller hears of a failure; only a death is not
   * waited for.
   * @returns one result a rank, in the order given. @throws what the first failed with.
   */
  async onEach(ranks: readonly number[], method: string, work: RankWork): Promise<unknown[]> {
    const failures: unknown[] = [];
    const parts = this.begin(ranks, method, work).map((part) =>
      part.catch((error: unknown) => {
        failures.push(error);
        if (this.death) throw failures[0];
      }),
    );
    const outputs = await Promise.all(parts);
    if (failures.length > 0) throw failures[0];
    return outputs;
  }

  /** The first that no call under way has. */
  private takeLane(): number {
    let lane = 0;
    while (this.lanes.has(lane)) lane += 1;
    this.lanes.add(lane);
    return lane;
  }

  private note(event: HealthEvent): void {
    const sentence = `Rank ${event.rank} of ${this.name} ${event.reason}.`;
    if (event.state === "back") this.log.info(sentence);
    else if (event.state === "silent") this.log.warn(sentence);
    else if (!this.death) {
      this.death = event;
      this.log.warn(sentence);
      // The others may wait for it.
      this.interrupt(`rank ${event.rank} ${event.reason}`);
      for (const end of this.ends) end((method) => this.lost(event, method));
    }
  }

  private lost({ rank, reason, cause }: HealthEvent, method: string): VerlError {
    return deadRank({ group: this.name, rank, place: this.handles[rank]!.place, method }, reason, cause);
  }

  private interrupt(reason: string, call?: GroupCall): void {
    for (const handle of this.handles) handle.interrupt(reason, call);
  }
}
