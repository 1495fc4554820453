import { LONGEST_TIMER } from "./deadline.ts";
/**
 * Runs `run` for every item, at most `limit` at once, and gives the results in the items' order. The first failure, or `signal`,
 * ends it: nothing more is started, and what is under way is no longer waited for. The process stays alive meanwhile: where a promise
 * that never settles is all that is left, Node would end without a word.
 */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  limit: number,
  run: (item: T, index: number) => R | Promise<R>,
  signal?: AbortSignal,
): Promise<R[]> {
  signal?.throwIfAborted();
  const results = new Array<R>(items.length);
  let next = 0;
  let ended = false;
  const lane = async (): Promise<void> => {
    while (!ended && next < items.length) {
      const index = next++;
      results[index] = await run(items[index]!, index);
    }
  };
  const held = setInterval(() => undefined, LONGEST_TIMER);
  const lanes = Promise.all(Array.from({ length: Math.min(Math.max(1, limit), items.length) }, lane));
  try {
    await (signal === undefined ? lanes : Promise.race([lanes, rejectOnAbort(signal, lanes)]));
  } finally {
    ended = true;
    clearInterval(held);
  }
  return results;
}

/** Rejects when `signal` fires or has fired; its listener goes when `work` is done. */
function rejectOnAbort(signal: AbortSignal, work: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) return abort(); // It fired while the first items started.
    signal.addEventListener("abort", abort, { once: true });
    const stopListening = (): void => signal.removeEventListener("abort", abort);
    work.then(stopListening, stopListening);
  });
}
