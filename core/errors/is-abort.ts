/** True for what an aborted signal throws, of whatever realm; its reason when none was given. */
export const isAbort = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "name" in error && error.name === "AbortError";
