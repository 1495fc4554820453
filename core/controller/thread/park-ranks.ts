import { BroadcastChannel, type Worker as Thread } from "node:worker_threads";

/** By which the ranks' threads are asked to stand still. */
const ASKED = "verl/park";

/** Threads of ranks that have not ended. */
let running = 0;

/** Counts the thread of a rank until it ends. */
export function countThread(thread: Thread): void {
  running += 1;
  thread.once("exit", () => (running -= 1));
}

/** In the thread of a rank: it stands still for good, once it is asked to and is between two pieces of its work. */
export function parkWhenAsked(): void {
  const channel = new BroadcastChannel(ASKED);
  channel.onmessage = ({ data }) => {
    const parked = data as Int32Array;
    Atomics.add(parked, 0, 1);
    Atomics.notify(parked, 0);
    Atomics.wait(parked, 1, 0);
  };
  // The channel to the controller decides how long the thread lives.
  channel.unref();
}

/**
 * Lets the threads of all ranks stand still, and waits for that: nothing else happens in this thread meanwhile. A thread that the end of
 * the process stops in native code may abort it.
 * @returns false where one does not within so many milliseconds
 */
export function parkRanks(limitMs: number): boolean {
  if (running === 0) return true;
  const parked = new Int32Array(new SharedArrayBuffer(8));
  new BroadcastChannel(ASKED).postMessage(parked);
  const limit = Date.now() + limitMs;
  for (let count = 0; count < running; count = Atomics.load(parked, 0)) {
    if (Atomics.wait(parked, 0, count, limit - Date.now()) === "timed-out") return false;
  }
  return true;
}
