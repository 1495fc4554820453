import { writeSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { inspect } from "node:util";
import { BroadcastChannel, isMainThread, threadId, type Worker as Thread } from "node:worker_threads";

/** By which ranks' threads are asked to stand still; the message lists them. */
const ASKED = "verl/park";

/** Milliseconds that they have for it where the process ends by a signal, which leaves the exit code as it is for a shell. */
const SIGNAL_MS = 2000;
/** Where the exit code depends on it, and where one thread is to end. */
const PARK_MS = 10_000;
/** Between two looks at one that is to end. */
const LOOK_MS = 20;

const SIGNALS: ReadonlyMap<unknown, NodeJS.Signals> = new Map([
  [130, "SIGINT"],
  [143, "SIGTERM"],
]);

/** What a rank's thread shares with its controller: 1 while it can be asked, from its start until it stands still or ends. */
export type CanPark = Int32Array<SharedArrayBuffer>;

/** Threads of ranks that have not ended, by this copy of the package in this thread. */
const running = new Map<Thread, CanPark>();

/** The error by which the process ends, which Node tells after `exit`. */
let fatal: { readonly error: unknown } | undefined;

/**
 * Watches over the thread of a rank until it ends. Where the process ends before, by `process.exit` or an error that nobody caught, the
 * threads stand still first: one that is stopped in native code, as onnxruntime's, aborts the process. So where the controller is in a
 * thread itself, which ends so; `terminate` from outside is not noticed there.
 */
export function watchThread(thread: Thread, canPark: CanPark): void {
  if (running.size === 0) {
    process.on("exit", parkOrEnd);
    process.on("uncaughtExceptionMonitor", noteFatal);
  }
  running.set(thread, canPark);
  thread.once("exit", () => {
    running.delete(thread);
    if (running.size > 0) return;
    process.off("exit", parkOrEnd);
    process.off("uncaughtExceptionMonitor", noteFatal);
  });
}

/** In the thread of a rank: it stands still for good, once it is asked to and is between two pieces of its work. */
export function parkWhenAsked(canPark: CanPark): void {
  const channel = new BroadcastChannel(ASKED);
  const notAnyMore = (): void => {
    Atomics.store(canPark, 0, 0);
    Atomics.notify(canPark, 0);
  };
  channel.onmessage = ({ data }) => {
    if (!(data as number[]).includes(threadId)) return;
    // Those of a rank that is a controller itself end with it.
    parkRanks(Infinity);
    notAnyMore();
    // Nobody sets it again.
    Atomics.wait(canPark, 0, 0);
  };
  // The channel to the controller decides how long the thread lives.
  channel.unref();
  Atomics.store(canPark, 0, 1);
  process.once("exit", notAnyMore);
}

/**
 * Ends the thread of a rank whatever it does, once it stands still: in native code it would abort the process.
 * @param lostS seconds after which it is taken for hung and ended as it is, but no less than 10
 * @returns when it has ended; after 10 s in any case, and the thread keeps the process no longer
 */
export async function endThread(thread: Thread, lostS: number): Promise<void> {
  const ended = endOnceStill(thread, performance.now() + Math.max(lostS * 1000, PARK_MS));
  const waited = new AbortController();
  const late = after(PARK_MS, undefined, { signal: waited.signal }).catch(() => undefined);
  await Promise.race([ended, late]);
  waited.abort();
  thread.unref();
}

async function endOnceStill(thread: Thread, until: number): Promise<void> {
  const isBusy = (): boolean => isThere(running.get(thread));
  if (isBusy()) ask([thread]);
  while (isBusy() && performance.now() < until) await after(LOOK_MS, undefined, { ref: false });
  await thread.terminate();
}

const noteFatal = (error: unknown): void => {
  // What a handler takes ends nothing.
  if (process.listenerCount("uncaughtException") === 0) fatal = { error };
};

/**
 * A thread that stays in native code would be waited for, and abort the process then: the process ends by a signal before, without what
 * others do at its `exit` later than this.
 */
function parkOrEnd(code: number): void {
  const signal = SIGNALS.get(code) ?? "SIGKILL";
  const isKilled = signal === "SIGKILL";
  const limitMs = isKilled ? PARK_MS : SIGNAL_MS;
  if (parkRanks(limitMs) || !isMainThread) return;
  if (isKilled) {
    if (fatal) tell(inspect(fatal.error));
    const late = `Ranks in threads did not stand still within ${limitMs / 1000} s`;
    tell(`${late}; the process is killed, as one in native code would abort it.`);
  }
  process.removeAllListeners(signal);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Nothing else happens in this thread meanwhile. @returns false where a thread does not stand still in time */
function parkRanks(limitMs: number): boolean {
  // One that cannot be asked yet, or any more, is in no native code.
  const asked = [...running].filter(([, canPark]) => isThere(canPark));
  if (asked.length === 0) return true;
  ask(asked.map(([thread]) => thread));
  const limit = performance.now() + limitMs;
  return asked.every(([, canPark]) => Atomics.wait(canPark, 0, 1, limit - performance.now()) !== "timed-out");
}

/** Asks threads to stand still. */
function ask(threads: readonly Thread[]): void {
  const channel = new BroadcastChannel(ASKED);
  channel.postMessage(threads.map((thread) => thread.threadId));
  channel.close();
}

const isThere = (canPark: CanPark | undefined): boolean => canPark !== undefined && Atomics.load(canPark, 0) === 1;

/** Written at once: a stream does not get to it any more. */
function tell(line: string): void {
  try {
    writeSync(process.stderr.fd, `${line}\n`);
  } catch {
    // Nobody reads stderr.
  }
}
