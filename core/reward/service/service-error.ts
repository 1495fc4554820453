/** What a call to a service ended with, by HTTP or before. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";

  constructor(
    message: string,
    /** HTTP status, where there was one. */
    readonly status?: number,
    /** Seconds after which the service wants to be asked again (`Retry-After`). */
    readonly retryAfterS?: number,
    /** True when asking again may help. Default: by the status. */
    readonly transient: boolean = status !== undefined && PASSING.has(status),
  ) {
    super(message);
  }
}

/** Statuses that pass by themselves. */
const PASSING = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529]);
/** Connections that broke. */
const BROKEN = new Set([
  "EAI_AGAIN",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EPIPE",
  "ETIMEDOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_SOCKET",
]);

interface ErrorLike {
  status?: unknown;
  statusCode?: unknown;
  code?: unknown;
  cause?: unknown;
  headers?: unknown;
  response?: unknown;
}

/** Whether asking again may help: of our clients' errors, those of `fetch`, and those of SDKs that carry `status`. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ServiceError) return error.transient;
  if (typeof error !== "object" || error === null) return false;
  const { status, statusCode, code, cause } = error as ErrorLike;
  const http = status ?? statusCode;
  if (typeof http === "number") return PASSING.has(http);
  if (typeof code === "string" && BROKEN.has(code)) return true;
  return cause !== undefined && cause !== error && isTransient(cause);
}

/** Seconds that an error's `Retry-After` asks for, where it has one: as `retryAfterS`, or in the `headers` that SDKs keep. */
export function retryAfterOf(error: unknown): number | undefined {
  if (error instanceof ServiceError) return error.retryAfterS;
  if (typeof error !== "object" || error === null) return undefined;
  const { headers, response } = error as ErrorLike;
  return headerOf(headers) ?? headerOf((response as ErrorLike | undefined)?.headers);
}

function headerOf(headers: unknown): number | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  const value =
    headers instanceof Headers ? headers.get("retry-after") : (headers as Record<string, unknown>)["retry-after"];
  return typeof value === "string" ? parseRetryAfter(value) : undefined;
}

/** Why `fetch` failed, in words: its own message leaves it to the cause, and that of several addresses has but a code. */
export function fetchFailure(error: unknown): string {
  const { message, cause } = error as { message: string; cause?: { message?: string; code?: string } };
  const why = cause?.message || cause?.code;
  return why === undefined ? message : `${message}: ${why}`;
}

/** `Retry-After` in seconds: a number of them, or a date. */
export function parseRetryAfter(value: string, now: number = Date.now()): number | undefined {
  if (/^\d{1,9}(\.\d{1,9})?$/.test(value.trim())) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now) / 1000);
}
