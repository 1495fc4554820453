import type { Worker } from "./worker.ts";

/** One of the workers that share a rank could not be imported, or constructed. */
export class PartFailure extends Error {
  /**
   * @param part its number among these workers. @param reason what was thrown
   * @param before those that had been constructed by then
   */
  constructor(
    readonly part: number,
    readonly reason: unknown,
    readonly before: readonly Worker[] = [],
  ) {
    super(`The worker ${part} of a rank could not be started.`, { cause: reason });
  }
}

/** What was thrown at the start of a rank, and by which of its workers, where it is known. */
export const failedPart = (thrown: unknown): { reason: unknown; part?: number; before?: readonly Worker[] } =>
  thrown instanceof PartFailure ? thrown : { reason: thrown };
