import { inspect } from "node:util";

/** What was thrown, in words: code that is not ours may throw anything. */
export function reasonOf(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  const message = (thrown as { message?: unknown } | null | undefined)?.message;
  return typeof message === "string" ? message : inspect(thrown);
}
