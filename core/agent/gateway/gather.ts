/** So many rounds of the event loop without a request, of 1 ms at least, and those that came are handed on. */
const QUIET_ROUNDS = 4;
/** The most rounds that one waits, and the most that wait. */
const MOST_ROUNDS = 256;
const MOST = 1024;

/**
 * Lets requests that come close together go on together. Engines batch what is asked in the same moment, while the requests of many agents
 * come through as many sockets, about one a round of the event loop. Rounds are counted, not time: an engine in this process makes them long.
 */
export class Gatherer {
  private waiting: (() => void)[] = [];
  private quiet = 0;
  private rounds = 0;

  /** Resolves when no further request has come for a little while. */
  wait(): Promise<void> {
    this.quiet = 0;
    return new Promise((resolve) => {
      if (this.waiting.push(resolve) === 1) this.nextRound();
    });
  }

  private nextRound(): void {
    setTimeout(() => {
      this.quiet += 1;
      this.rounds += 1;
      if (this.quiet < QUIET_ROUNDS && this.rounds < MOST_ROUNDS && this.waiting.length < MOST) return this.nextRound();
      this.rounds = 0;
      for (const resolve of this.waiting.splice(0)) resolve();
    }, 1);
  }
}
