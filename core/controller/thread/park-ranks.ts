import { writeSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { BroadcastChannel, isMainThread, threadId, type Worker as Thread } from "node:worker_threads";

/** By which the ranks' threads are asked to stand still. */
const ASKED = "verl/park";

/** Milliseconds that they have for it; where the exit code depends on it, more. */
const PARK_MS = 2000;
const EXIT_MS = 10_000;
/** Between two looks at one that ends meanwhile. */
const LOOK_MS = 20;

interface Request {
  /** The only thread that is meant. Default: all. */
  readonly thread?: number;
}

/** A process that ends by one of these has the same exit code for a shell. */
const SIGNALS: ReadonlyMap<unknown, NodeJS.Signals> = new Map([
  [130, "SIGINT"],
  [143, "SIGTERM"],
]);

/** What a rank's thread shares with its controller: 1 while it can be asked, from its start until it stands still or ends. */
export type CanPark = Int32Array<SharedArrayBuffer>;

/** Threads of ranks that have not ended. */
const running = new Set<CanPark>();

/**
 * Watches over the thread of a rank until it ends. Where the process ends before, by `process.exit` or an error that nobody caught, the
 * threads stand still first: one that is stopped in native code, as onnxruntime's, aborts the process.
 */
export function watchThread(thread: Thread, canPark: CanPark): void {
  // The end of a thread is none of the process.
  if (running.size === 0 && isMainThread) process.on("exit", parkOrEnd);
  running.add(canPark);
  thread.once("exit", () => {
    running.delete(canPark);
    if (running.size === 0) process.off("exit", parkOrEnd);
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
    const { thread } = data as Request;
    if (thread !== undefined && thread !== threadId) return;
    notAnyMore();
    // Nobody sets it again.
    Atomics.wait(canPark, 0, 0);
  };
  // The channel to the controller decides how long the thread lives.
  channel.unref();
  Atomics.store(canPark, 0, 1);
  process.once("exit", notAnyMore);
}

/** Ends the thread of a rank whatever it does. It stands still first, if it can: in native code it would abort the process. */
export async function endThread(thread: Thread, canPark: CanPark): Promise<void> {
  if (isThere(canPark)) {
    ask(thread.threadId);
    const limit = performance.now() + PARK_MS;
    while (isThere(canPark) && performance.now() < limit) await after(LOOK_MS);
  }
  await thread.terminate();
}

/** A thread that stays in native code would be waited for, and abort the process then: the process ends by a signal before. */
function parkOrEnd(code: number): void {
  const signal = SIGNALS.get(code) ?? "SIGKILL";
  const limitMs = signal === "SIGKILL" ? EXIT_MS : PARK_MS;
  if (parkRanks(limitMs)) return;
  if (signal === "SIGKILL") {
    tell(
      `Ranks in threads did not stand still within ${limitMs / 1000} s; the process is killed, since they would abort it.`,
    );
  }
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}

/** Nothing else happens in this thread meanwhile. @returns false where a thread does not stand still in time */
function parkRanks(limitMs: number): boolean {
  // One that cannot be asked yet, or any more, is in no native code.
  const asked = [...running].filter(isThere);
  if (asked.length === 0) return true;
  ask();
  const limit = performance.now() + limitMs;
  return asked.every((canPark) => Atomics.wait(canPark, 0, 1, limit - performance.now()) !== "timed-out");
}

/** Asks all threads, or one, to stand still. */
function ask(thread?: number): void {
  const channel = new BroadcastChannel(ASKED);
  channel.postMessage({ thread } satisfies Request);
  channel.close();
}

const isThere = (canPark: CanPark): boolean => Atomics.load(canPark, 0) === 1;

/** Written at once: a stream does not get to it any more. */
function tell(line: string): void {
  try {
    writeSync(process.stderr.fd, `${line}\n`);
  } catch {
    // Nobody reads stderr.
  }
}
