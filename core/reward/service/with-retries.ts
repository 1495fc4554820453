import { noteFailure, secondsLeft } from "../deadline.ts";
import { pause as wait } from "./pause.ts";
import { isTransient, retryAfterOf, ServiceError } from "./service-error.ts";

/** Seconds to wait after the attempt of this number, from 1, has failed; undefined: the call is given up. */
export type RetryPause = (error: unknown, attempt: number) => number | undefined;

const ATTEMPTS = 4;
/** Seconds at most that a service may ask a call to wait. */
const MOST_PATIENCE = 60;

/** After what passes by itself: half a second before the second attempt, twice as long before each next one, or as `Retry-After` says. */
const usualPause: RetryPause = (error, attempt) => {
  if (attempt >= ATTEMPTS || !isTransient(error)) return undefined;
  const asked = retryAfterOf(error) ?? 0;
  return asked > MOST_PATIENCE ? undefined : Math.max(asked, 0.5 * 2 ** (attempt - 1));
};

/**
 * Calls again where that may help. Default: up to four attempts, 3.5 seconds apart in all, after what passes by itself. A pause that
 * the deadline of `signal` leaves no time for is not begun.
 * @throws what the last attempt threw, with the number of attempts where it is a ServiceError; the reason of `signal`.
 */
export async function withRetries<T>(
  call: () => Promise<T>,
  { signal, pause = usualPause }: { signal?: AbortSignal; pause?: RetryPause } = {},
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await call();
    } catch (thrown) {
      signal?.throwIfAborted();
      const seconds = pause(thrown, attempt);
      const error = counted(thrown, attempt);
      if (seconds === undefined || seconds >= (secondsLeft(signal) ?? Infinity)) throw error;
      if (error instanceof Error) noteFailure(signal, error.message);
      await wait(seconds * 1000, signal);
    }
  }
}

/** The error with how often the service was asked, unless asking once was enough to know. */
function counted(error: unknown, attempts: number): unknown {
  if (!(error instanceof ServiceError) || (attempts === 1 && !error.transient)) return error;
  const { message, status, retryAfterS, transient } = error;
  const asked = retryAfterS === undefined ? "" : `; Retry-After ${Math.ceil(retryAfterS)} s`;
  const tries = `${attempts} attempt${attempts === 1 ? "" : "s"}`;
  return new ServiceError(`${message} (${tries}${asked})`, status, retryAfterS, transient);
}
