import { setTimeout as sleep } from "node:timers/promises";
import { isTransient } from "./service-error.ts";

/** Seconds to wait after the attempt of this number, from 1, has failed; undefined: the call is given up. */
export type RetryPause = (error: unknown, attempt: number) => number | undefined;

const ATTEMPTS = 4;

/** After what passes by itself: half a second before the second attempt, twice as long before each next one. */
const usualPause: RetryPause = (error, attempt) =>
  attempt < ATTEMPTS && isTransient(error) ? 0.5 * 2 ** (attempt - 1) : undefined;

/**
 * Calls again where that may help. Default: up to four attempts, 3.5 seconds apart in all, after what passes by itself.
 * @throws what the last attempt threw; what `signal` ends the pause with.
 */
export async function withRetries<T>(
  call: () => Promise<T>,
  { signal, pause = usualPause }: { signal?: AbortSignal; pause?: RetryPause } = {},
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (error) {
      signal?.throwIfAborted();
      const seconds = pause(error, attempt);
      if (seconds === undefined) throw error;
      await sleep(seconds * 1000, undefined, { signal });
    }
  }
}
