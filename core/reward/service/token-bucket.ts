import { pause } from "./pause.ts";

/** Lets `units` through in each span of seconds, in the order asked for. It starts full: the first span's units may come at once. */
export class TokenBucket {
  private level: number;
  private filledAt: number;
  private readonly perMs: number;

  /** @param now milliseconds that only go up. */
  constructor(
    private readonly units: number,
    spanS: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.level = units;
    this.filledAt = now();
    this.perMs = units / (spanS * 1000);
  }

  /** Takes units and waits until they are there; more than a span's are a debt that later calls wait for. When `signal` ends the wait they are lost. */
  async take(units: number, signal?: AbortSignal): Promise<void> {
    const wait = this.reserve(units);
    if (wait > 0) await pause(wait, signal);
  }

  /** Takes units. @returns milliseconds until they are there. */
  reserve(units: number): number {
    const now = this.now();
    this.level = Math.min(this.units, this.level + (now - this.filledAt) * this.perMs);
    this.filledAt = now;
    this.level -= units;
    return this.level >= 0 ? 0 : -this.level / this.perMs;
  }
}
