import { isVerlError, type ErrorCode } from "../../errors/index.ts";
import { httpStatusOf } from "../../errors/http-status.ts";
import { retryAfterOf } from "../../reward/service/service-error.ts";

/** An error as OpenAI's API tells it. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    message: string,
    /** What programs look at: `context_length_exceeded`, `invalid_api_key`, … */
    readonly code: string | null = null,
    /** The field of the request that is wrong. */
    readonly param: string | null = null,
    /** Seconds after which to ask again. */
    readonly retryAfterS?: number,
  ) {
    super(message);
  }

  /** The response body. */
  body(): { error: { message: string; type: string; param: string | null; code: string | null } } {
    const type =
      this.status === 429 ? "rate_limit_exceeded" : this.status < 500 ? "invalid_request_error" : "server_error";
    return { error: { message: this.message, type, param: this.param, code: this.code } };
  }
}

/** Errors of this project that a request is to blame for. */
const OF_THE_REQUEST: ReadonlySet<ErrorCode> = new Set([
  "VERL_ROLLOUT_REQUEST",
  "VERL_DATA_CHAT_TEMPLATE",
  "VERL_DATA_UNENCODABLE",
  "VERL_AGENT_TEMPLATE_DRIFT",
]);

/** Statuses by which an engine asks to be asked again, and the codes of OpenAI for them. */
const LATER: ReadonlyMap<number | undefined, string | null> = new Map([
  [429, "rate_limit_exceeded"],
  [503, null],
]);
/** Errors that an error comes of, at most. */
const MAX_CAUSES = 8;

/** Any error in that form. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (isVerlError(error) && OF_THE_REQUEST.has(error.code)) return new ApiError(400, message);
  // An answer that cannot be true.
  if (isVerlError(error) && error.code === "VERL_AGENT_TRAJECTORY") return new ApiError(502, message, "engine_fault");
  let cause = error;
  for (let depth = 0; typeof cause === "object" && cause !== null && depth < MAX_CAUSES; depth++) {
    const status = httpStatusOf(cause);
    const code = LATER.get(status);
    if (code !== undefined) return new ApiError(Number(status), message, code, null, retryAfterOf(cause));
    cause = (cause as { cause?: unknown }).cause;
  }
  return new ApiError(500, message);
}
