import { setTimeout as sleep } from "node:timers/promises";

/** Lets `perMinute` units through a minute, in the order asked for. It starts full: the first minute's units may come at once. */
export class TokenBucket {
  private level: number;
  private filledAt: number;

  /** @param now milliseconds that only go up. */
  constructor(
    private readonly perMinute: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.level = perMinute;
    this.filledAt = now();
  }

  /** Takes `units` and waits until they are there; more than a minute's worth is a debt that later calls wait for. */
  async take(units: number, signal?: AbortSignal): Promise<void> {
    const wait = this.reserve(units);
    if (wait > 0) await sleep(wait, undefined, { signal });
  }

  /** Takes `units`. @returns milliseconds until they are there. */
  reserve(units: number): number {
    const now = this.now();
    this.level = Math.min(this.perMinute, this.level + ((now - this.filledAt) / 60_000) * this.perMinute);
    this.filledAt = now;
    this.level -= units;
    return this.level >= 0 ? 0 : (-this.level / this.perMinute) * 60_000;
  }
}
