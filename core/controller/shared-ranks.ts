import type { Logger } from "../registry/index.ts";
import type { HealthEvent } from "./health.ts";
import type { RankHandle } from "./transport.ts";

/** Seconds that calls under way have when the ranks are to end. */
const LEAVE_S = 10;

/** What groups on the same ranks share: the ranks, whose turn it is, and whether one of them has died. */
export class SharedRanks {
  /** End of the last blocking call: the ranks do one after the other, whatever group asks. */
  private tail: Promise<unknown> = Promise.resolve();
  /** Groups that have joined and not left. */
  private users = 0;
  /** The first rank that died. */
  private death: HealthEvent | undefined;

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
    if ((await Promise.race([this.tail, late])) === "late") this.interrupt("the group is disposed");
    clearTimeout(timer);
    await Promise.all(this.handles.map((handle) => handle.dispose()));
  }

  /** Does the work once all that was given before is done. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.tail.then(work);
    this.tail = result.catch(() => undefined);
    return result;
  }

  /**
   * Does the work on some ranks at once. Every rank is waited for, so that none still runs when the caller hears of a failure; ranks that
   * wait for the failed one are told not to. Only a death is not waited for.
   * @returns one result a rank, in the order given. @throws what the first failed with.
   */
  async onEach(ranks: readonly number[], work: (rank: number) => Promise<unknown>): Promise<unknown[]> {
    const failures: unknown[] = [];
    const calls = ranks.map((rank) =>
      work(rank).catch((error: unknown) => {
        if (failures.push(error) === 1 && this.handles.length > 1) {
          const reason = error instanceof Error ? error.message : String(error);
          this.interrupt(`rank ${rank} failed: ${reason}`);
        }
        if (this.death) throw error;
      }),
    );
    const outputs = await Promise.all(calls);
    if (failures.length > 0) throw failures[0];
    return outputs;
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
    }
  }

  private interrupt(reason: string): void {
    for (const handle of this.handles) handle.interrupt(reason);
  }
}
