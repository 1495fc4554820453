/** The HTTP status that clients of services put on their errors; undefined where there is none. */
export function httpStatusOf(error: object): number | undefined {
  const { status, statusCode } = error as { status?: unknown; statusCode?: unknown };
  const http = status ?? statusCode;
  return Number.isInteger(http) ? (http as number) : undefined;
}
