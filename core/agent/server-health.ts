/** Milliseconds that a server is spared after its first failure; each further one in a row doubles them. */
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 60_000;

/** What a router knows of one server. */
export class ServerHealth {
  /** Requests under way. */
  inFlight = 0;
  /** Pauses in a row that no answer came between. */
  failures = 0;
  private sparedUntil = -Infinity;

  /** @param now milliseconds of a clock that never goes back */
  constructor(private readonly now: () => number) {}

  /**
   * Whether it may be asked while another server can: not after a failure, until its pause is over, and then by one request at a time
   * until it answers. A server that refuses at once always has the fewest requests under way, and would draw them all.
   */
  get isOpen(): boolean {
    return this.now() >= this.sparedUntil && (this.failures === 0 || this.inFlight === 0);
  }

  /** Whether it failed twice or more with a pause between, and no answer. One failure alone says little. */
  get failedAgain(): boolean {
    return this.failures > 1;
  }

  /** It answered. The pause goes on: a server that fails every other request refuses at once as well. */
  answered(): void {
    this.failures = 0;
  }

  /** It failed a request. Those that were sent together fail together, and are one failure. */
  failed(): void {
    const now = this.now();
    if (now < this.sparedUntil) return;
    this.sparedUntil = now + Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.failures);
    this.failures += 1;
  }
}
