/** How deep an error is looked into: clients wrap the API's errors, and agents those of clients. */
const MAX_DEPTH = 8;
/** What `streamText` of the package `ai` ends with where its request was refused: it tells the refusal to `onError` alone. */
const WITHOUT_CAUSE = "AI_NoOutputGeneratedError";

/**
 * Whether an error comes of one of the API's refusals. Their messages tell: clients have many kinds of errors, and agents throw their own.
 * @param refusals messages of those that there were
 */
export function tellsRefusal(error: unknown, refusals: ReadonlySet<string>): boolean {
  return refusals.size > 0 && tells(error, refusals, 0);
}

function tells(error: unknown, refusals: ReadonlySet<string>, depth: number): boolean {
  if (typeof error === "string") return [...refusals].some((refusal) => error.includes(refusal));
  if (typeof error !== "object" || error === null || depth >= MAX_DEPTH) return false;
  const { name, message, cause } = error as { name?: unknown; message?: unknown; cause?: unknown };
  return name === WITHOUT_CAUSE || tells(message, refusals, depth + 1) || tells(cause, refusals, depth + 1);
}
