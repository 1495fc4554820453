/** What was thrown, in words; anything can be thrown, and this throws nothing. */
export function thrownText(thrown: unknown): string {
  try {
    return typeof thrown === "object" && thrown !== null && "message" in thrown
      ? String(thrown.message)
      : String(thrown);
  } catch {
    return `${typeof thrown === "function" ? "a function" : "an object"} that cannot be put into words`;
  }
}

/** A line to be logged, of a program that nothing has type-checked. */
export const textOf = (message: unknown): string => (typeof message === "string" ? message : thrownText(message));
