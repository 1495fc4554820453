import { VerlError } from "../errors/index.ts";
import type { RankCall } from "./call-failure.ts";
import { thrownText } from "./thrown-text.ts";

/** A call of a rank that has ended with its group. @param reason why it ended, where that is known */
export function disposedRank({ group, rank, place, method }: Omit<RankCall, "args">, reason?: string): VerlError {
  return new VerlError(
    "VERL_WORKER_DIED",
    `Rank ${rank} of ${group} (${place}) was disposed with its group; the call was ${method}.`,
    { hint: "Dispose a group after its last call.", details: { rank, method, reason } },
  );
}

/** What is warned of where a rank's worker fails at its disposal. */
export const undisposed = (group: string, rank: number, error: unknown): string =>
  `Rank ${rank} of ${group} could not be disposed: ${thrownText(error)}`;
