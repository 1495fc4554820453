import type { RunEnd } from "./run-end.ts";

/**
 * Runs the preparation of a run. Who asks to stop meanwhile ends what it waits for, as an error does: nothing has been begun that could be
 * lost. A run that was to stop before is prepared, and tells of step 0.
 * @param ended of the run, which ends then: what was opened on the way is closed before this ends
 * @throws the reason of `stop`, where it ended what was waited for; what `work` throws
 */
export async function preparing<T>(ended: RunEnd, stop: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  let asked = false;
  const end = (): void => {
    asked = true;
    void ended.end(stop?.reason);
  };
  stop?.addEventListener("abort", end, { once: true });
  try {
    return await work();
  } catch (error) {
    await ended.end();
    // What was waited for may tell of its end in words of its own.
    throw asked ? stop!.reason : error;
  } finally {
    stop?.removeEventListener("abort", end);
  }
}
