import { raceAbort } from "../controller/race-abort.ts";
import { withGrace } from "../reward/deadline.ts";

/** Seconds that a dataset or a tracker has to end what it is at, from when the run is asked to stop, or from its call where that is later. */
const GRACE_S = 10;

/** What came of it, in words that complete "the tracker …". */
export const LEFT = `did not end within the ${GRACE_S} s that it has once the run is asked to stop, and is left to itself`;

/**
 * Waits for code that is not the trainer's own, and takes no signal; once the run is asked to stop, for some seconds at most.
 * @returns false where these were in vain: it may go on, and nobody waits for it. @throws what the code throws
 */
export async function endsInGrace(stop: AbortSignal, work: () => void | Promise<void>): Promise<boolean> {
  return withGrace(stop, GRACE_S, async (late) => {
    const working = Promise.resolve(work()).then(() => true);
    return raceAbort(late, working).catch((error: unknown) => {
      if (late.aborted && error === late.reason) return false;
      throw error;
    });
  });
}
