import { setMaxListeners } from "node:events";

/** What a call ends with that was not done in time. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/**
 * Runs `call` for at most `seconds`. The signal that it is given fires when that time is over or when `signal` does, and the result is
 * no longer waited for. The process stays alive meanwhile, even where nothing else would keep it so. A call that never gives the
 * thread back cannot be ended from within its process.
 * @throws DeadlineError "timed out after … s"; the reason of `signal`; what `call` throws.
 */
export async function withDeadline<T>(
  seconds: number,
  call: (signal: AbortSignal) => T | Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const forward = (): void => controller.abort(signal!.reason);
  // Many calls wait for one run's signal; each takes its listener away again.
  if (signal !== undefined) setMaxListeners(0, signal);
  signal?.addEventListener("abort", forward, { once: true });
  const timer = setTimeout(() => controller.abort(new DeadlineError(`timed out after ${seconds} s`)), seconds * 1000);
  try {
    const ended = new Promise<never>((_, reject) => {
      controller.signal.addEventListener("abort", () => reject(controller.signal.reason as Error), { once: true });
    });
    return await Promise.race([ended, call(controller.signal)]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", forward);
  }
}

/** Runs `work` with a signal that fires `seconds` after `stop` does, with its reason: time to finish what would otherwise be lost. */
export async function withGrace<T>(
  stop: AbortSignal,
  seconds: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const count = (): void => void (timer = setTimeout(() => controller.abort(stop.reason), seconds * 1000));
  if (stop.aborted) count();
  else stop.addEventListener("abort", count, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    stop.removeEventListener("abort", count);
  }
}
