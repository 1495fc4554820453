import { httpStatusOf } from "../errors/http-status.ts";
import { isVerlError } from "../errors/verl-error.ts";

/**
 * Statuses that speak of the request alone: every server would refuse it. Others of 4xx speak of the server as well: it lacks the model
 * (404), does not let the client in (401, 403), or has too much to do (408, 409, 429).
 */
const OF_THE_REQUEST: ReadonlySet<number> = new Set([400, 413, 422]);
/** Errors that an error comes of, at most. */
const MAX_CAUSES = 8;

/** Whether an engine refused a request for what it asks, such as a prompt that is too long; by the first cause that says so or has a status. */
export function isRequestFault(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; typeof cause === "object" && cause !== null && depth < MAX_CAUSES; depth++) {
    if (isVerlError(cause) && cause.code === "VERL_ROLLOUT_REQUEST") return true;
    const status = httpStatusOf(cause);
    if (status !== undefined) return OF_THE_REQUEST.has(status);
    cause = (cause as { cause?: unknown }).cause;
  }
  return false;
}
