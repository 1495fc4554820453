import { setMaxListeners } from "node:events";

/** Milliseconds; Node ends longer timers at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** What a call ends with that was not done in time. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

interface Deadline {
  /** When it ends (`performance.now()`), or the one around it does. */
  readonly at: number;
  readonly around: Deadline | undefined;
  /** What went wrong so far. */
  failure?: string;
}

/** Of the signals that calls were given. */
const deadlines = new WeakMap<AbortSignal, Deadline>();

/** Seconds until the signal of a call fires for its deadline; undefined for other signals. */
export function secondsLeft(signal: AbortSignal | undefined): number | undefined {
  const deadline = signal && deadlines.get(signal);
  return deadline && (deadline.at - performance.now()) / 1000;
}

/** Notes what went wrong in a call that goes on: should its time run out, its DeadlineError says so. */
export function noteFailure(signal: AbortSignal | undefined, why: string): void {
  for (let deadline = signal && deadlines.get(signal); deadline !== undefined; deadline = deadline.around)
    deadline.failure = why;
}

/** Signals that many calls wait for. */
const shared = new WeakSet<AbortSignal>();

/**
 * Runs `call` for at most `seconds`. The signal that it is given fires when that time is over or when `signal` does, and the result is
 * no longer waited for. The process stays alive meanwhile, even where nothing else would keep it so. A call that never gives the
 * thread back cannot be ended from within its process.
 * @throws DeadlineError "timed out after … s"; the reason of `signal`; what `call` throws.
 */
export function withDeadline<T>(
  seconds: number,
  call: (signal: AbortSignal) => T | Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return withLazyDeadline(seconds, (own) => call(own()), signal);
}

/** Promises of another library or realm are no `Promise` of this one. */
const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === "function";

/** The same for calls that seldom look at their signal: it is made when it is asked for, which costs more than a short call does. */
export function withLazyDeadline<T>(
  seconds: number,
  call: (signal: () => AbortSignal) => T | Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let controller: AbortController | undefined;
    let ended: { readonly reason: unknown } | undefined;
    const end = (reason: Error): void => {
      stopWaiting();
      ended = { reason };
      controller?.abort(reason);
      reject(reason);
    };
    const forward = (): void => end(signal!.reason as Error);
    const around = signal && deadlines.get(signal);
    const deadline: Deadline = { at: Math.min(performance.now() + seconds * 1000, around?.at ?? Infinity), around };
    const late = (): void => {
      const { failure } = deadline;
      const before = failure === undefined ? "" : `; before: ${failure}`;
      end(new DeadlineError(`timed out after ${seconds} s${before}`));
    };
    const timer = setTimeout(late, Math.min(seconds * 1000, LONGEST_TIMER));
    const stopWaiting = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", forward);
    };
    // Many calls wait for one run's signal; each takes its listener away again.
    if (signal !== undefined && !shared.has(signal)) {
      shared.add(signal);
      setMaxListeners(0, signal);
    }
    signal?.addEventListener("abort", forward, { once: true });
    const own = (): AbortSignal => {
      if (controller === undefined) {
        controller = new AbortController();
        deadlines.set(controller.signal, deadline);
      }
      if (ended !== undefined) controller.abort(ended.reason);
      return controller.signal;
    };
    const done = (value: T): void => {
      stopWaiting();
      resolve(value);
    };
    const failed = (error: Error): void => {
      stopWaiting();
      reject(error);
    };
    try {
      const running = call(own);
      if (isThenable(running)) Promise.resolve(running).then(done, failed);
      else done(running);
    } catch (error) {
      failed(error as Error);
    }
  });
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
