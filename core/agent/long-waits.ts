import type { Logger } from "../registry/logger.ts";

/** The key of the config by which attempts are limited. */
export const TIMEOUT_KEY = "actor_rollout_ref.rollout.agent.sample_timeout_s";

/** Seconds without an answer that are told first; each time twice as many, so that a run whose steps are long has few such lines. */
const FIRST_S = 60;

/** Tells that answers are waited for and none comes: a loop that hangs looks like one that is slow. */
export class LongWaits {
  private seconds: number;

  /** @param limit seconds that an attempt may take. @param first for tests. */
  constructor(
    private readonly log: Pick<Logger, "warnOnce">,
    private readonly limit: number | null,
    first = FIRST_S,
  ) {
    this.seconds = first;
  }

  /** Watches over one batch of answers, until it is told to `end`. @param what is waited for, as a line begins with it. */
  watch(what: string, count: number): { came(): void; end(): void } {
    let left = count;
    let last = performance.now();
    let timer: NodeJS.Timeout;
    const arm = (): void => {
      const due = last + this.seconds * 1000 - performance.now();
      timer = setTimeout(look, Math.max(due, 0));
    };
    const look = (): void => {
      if (performance.now() - last >= this.seconds * 1000) this.tell(what, left, count);
      arm();
    };
    arm();
    return {
      came: () => {
        left -= 1;
        last = performance.now();
      },
      end: () => clearTimeout(timer),
    };
  }

  private tell(what: string, left: number, count: number): void {
    const limit =
      this.limit === null ? `may take any time (${TIMEOUT_KEY})` : `may take ${this.limit} s (${TIMEOUT_KEY})`;
    // Once for all ranks, whose batches begin together.
    this.log.warnOnce(
      `long_wait/${this.seconds}`,
      `${what} has waited ${this.seconds} s for its next answer; ${left} of ${count} are missing. An attempt at one ${limit}.`,
    );
    this.seconds *= 2;
  }
}
