import { isVerlError, type ErrorCode } from "../../errors/index.ts";

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

/** Any error in that form. */
export function apiErrorOf(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return isVerlError(error) && OF_THE_REQUEST.has(error.code) ? new ApiError(400, message) : new ApiError(500, message);
}
