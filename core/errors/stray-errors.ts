import { AsyncLocalStorage } from "node:async_hooks";

type Told = (error: unknown) => void;

/** Whose code runs, as far as it is contained. */
const container = new AsyncLocalStorage<Told>();

/**
 * Runs code of a user's that must not end the run by what it leaves to itself: an error that nobody catches, of a promise, a timer or a
 * socket that it began, then or later, goes to `told`.
 */
export const containStrayErrors = <T>(told: (error: unknown) => void, work: () => T): T => container.run(told, work);

/**
 * Tells an error that nobody caught to whoever contains the code that it comes of. To be called where the process hears of the error: what
 * ran is known there alone.
 * @returns false where no one does
 */
export function tellStrayError(error: unknown): boolean {
  const told = container.getStore();
  told?.(error);
  return told !== undefined;
}
