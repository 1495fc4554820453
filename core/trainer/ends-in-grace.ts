import { raceAbort } from "../controller/race-abort.ts";
import { withGrace } from "../reward/deadline.ts";

/** Seconds that a run which is asked to stop waits for its dataset and trackers, all in all. */
const GRACE_S = 10;

/** Seconds that each of them has in any case, though those before it have taken all. */
const LEAST_S = 1;

/** Seconds that are left, by what asks the run to stop. */
const left = new WeakMap<AbortSignal, number>();

/** What came of it, in words that complete "the tracker …". */
export const LEFT = `did not end within the ${GRACE_S} s that datasets and trackers share once the run is asked to stop, and is left to itself`;

/**
 * Waits for code that is not the trainer's own, and takes no signal; once the run is asked to stop, for some seconds at most. What else
 * the run does meanwhile takes nothing of them.
 * @returns false where these were in vain: it may go on, and nobody waits for it. @throws what the code throws
 */
export async function endsInGrace(stop: AbortSignal, work: () => void | Promise<void>): Promise<boolean> {
  const seconds = left.get(stop) ?? GRACE_S;
  let from = performance.now();
  const asked = (): void => void (from = performance.now());
  stop.addEventListener("abort", asked, { once: true });
  try {
    return await withGrace(stop, Math.max(seconds, LEAST_S), async (late) => {
      const working = Promise.resolve(work()).then(() => true);
      return raceAbort(late, working).catch((error: unknown) => {
        if (late.aborted && error === late.reason) return false;
        throw error;
      });
    });
  } finally {
    stop.removeEventListener("abort", asked);
    if (stop.aborted) left.set(stop, seconds - (performance.now() - from) / 1000);
  }
}
