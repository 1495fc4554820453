import { setTimeout as sleep } from "node:timers/promises";

/** Lets so many calls a second start, spread evenly; a burst of one second's worth is let through. */
export class TokenBucket {
  /** When the next call may start, in ms of the process's clock. */
  private next = 0;

  constructor(private readonly perSecond: number) {}

  /** Waits for the caller's turn. Rejects when the signal fires; the turn is then lost. */
  async take(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    const start = Math.max(this.next, now - 1000);
    this.next = start + 1000 / this.perSecond;
    const wait = this.next - now;
    if (wait > 0) await sleep(wait, undefined, { signal });
  }
}
