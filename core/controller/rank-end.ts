import { VerlError } from "../errors/index.ts";
import type { RankCall } from "./call-failure.ts";
import { thrownText } from "./thrown-text.ts";

/** Seconds that a worker has to dispose itself. */
export const STOP_S = 10;

/** A rank whose worker had these seconds in vain, in words that complete "rank 3 of actor …". */
export const NOT_STOPPED = `did not stop within ${STOP_S} s`;

/** Why a rank ended whose transport was closed: in words that complete "the rank …". */
export const WITH_TRANSPORT = "ended with its transport, which this program closed";

/** What to do about `WITH_TRANSPORT`. */
export const CLOSE_LATER = "Close a transport after the last call of its groups.";

/** What is to be started on a transport that this program has closed. */
export const closedTransport = (): VerlError =>
  new VerlError("VERL_WORKER_DIED", "No rank can be started on a transport that this program has closed.", {
    hint: CLOSE_LATER,
  });

/** Why a rank ended that threw outside of its calls. */
export const endedBy = (error: unknown): string =>
  `was ended by an error that nobody caught: ${thrownText(error).replace(/\.$/, "")}`;

/** A call of a rank that has ended with its group. @param reason why it ended, where that is known */
export function disposedRank({ group, rank, place, method }: Omit<RankCall, "args">, reason?: string): VerlError {
  return new VerlError(
    "VERL_WORKER_DIED",
    `Rank ${rank} of ${group} (${place}) was disposed with its group; the call was ${method}.`,
    { hint: "Dispose a group after its last call.", details: { rank, method, reason } },
  );
}

/** A call of a group that has ended before any rank began it. */
export const disposedGroup = (group: string, method: string): VerlError =>
  new VerlError("VERL_WORKER_DIED", `${group} has been disposed; the call was ${method}.`, {
    hint: "Dispose a group after its last call.",
  });

/** A call of a rank that has ended by itself, or with its transport. @param cause what ended it, where it told */
export function deadRank(
  { group, rank, place, method }: Omit<RankCall, "args">,
  reason: string,
  cause?: Error,
): VerlError {
  return new VerlError("VERL_WORKER_DIED", `Rank ${rank} of ${group} (${place}) ${reason}; the call was ${method}.`, {
    hint: reason === WITH_TRANSPORT ? CLOSE_LATER : "Its own lines in the log come before this.",
    details: { rank, method, reason },
    cause,
  });
}

/** What is warned of where a rank's worker fails at its disposal. */
export const undisposed = (group: string, rank: number, error: unknown): string =>
  `Rank ${rank} of ${group} could not be disposed: ${thrownText(error)}`;

/** What is warned of where it does not end. @param then what is done about it: `it is killed` */
export const unended = (group: string, rank: number, place: string, then: string): string =>
  `Rank ${rank} of ${group} (${place}) ${NOT_STOPPED}; ${then}.`;
