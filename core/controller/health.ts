/** What became of a rank. */
export interface HealthEvent {
  readonly rank: number;
  /**
   * `silent`: gave no sign of life for a while; its calls still wait, since a long computation may hold its event loop.
   * `back`: was silent and answers again.
   * `died`: is gone for good. Every call of its group that is under way fails, on whichever rank, and so does every later one.
   */
  readonly state: "silent" | "back" | "died";
  /** In words that complete "rank 3 of actor …": `exited with code 1`, `has given no sign of life for 10 s`. */
  readonly reason: string;
  /** What the rank was ended by, where it told. */
  readonly cause?: Error;
}

/** When a rank that says nothing is taken for silent, and when for dead. */
export interface HealthLimits {
  /** Seconds between two questions for a sign of life. Default: 2. */
  readonly pingS: number;
  /** Seconds without any message after which a rank is `silent`. Default: 10. */
  readonly silentS: number;
  /** Seconds without any message after which a rank is given up: `died`. Longer than the longest stretch in which a worker computes
   * without returning to its event loop. Default: 300. */
  readonly lostS: number;
}

/** Limits of a run whose config names none. */
export const HEALTH_LIMITS: HealthLimits = { pingS: 2, silentS: 10, lostS: 300 };
