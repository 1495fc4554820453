import { apiErrorOf } from "./api-error.ts";

/** A request that the engine failed. */
interface Failure {
  /** Name of what was asked. */
  readonly key: string;
  readonly error: unknown;
  /** When it failed, in ms since 1970. */
  readonly at: number;
  /** The same is being asked again. */
  askedAgain: boolean;
}

/**
 * Failures of the engine that no answer made up for. What an agent makes of one is no answer of the policy, so it must not pass unseen where
 * the agent catches it; where a client asked the same once more and was answered, nothing is missing.
 */
export class EngineFailures {
  private readonly open = new Set<Failure>();

  /** The first of them. */
  get first(): Readonly<Pick<Failure, "error">> | undefined {
    return this.open.values().next().value;
  }

  /**
   * Answers a request. One of the same name as one that failed before it came is that one, asked again.
   * @param client aborted: whoever asked does not want the answer any more, which is no failure
   */
  async watch<T>(key: string, client: AbortSignal, answer: () => Promise<T>): Promise<T> {
    const earlier = [...this.open].find((failure) => failure.key === key && !failure.askedAgain);
    if (earlier !== undefined) earlier.askedAgain = true;
    try {
      const result = await answer();
      if (earlier !== undefined) this.open.delete(earlier);
      return result;
    } catch (error) {
      if (earlier !== undefined) earlier.askedAgain = false;
      else if (!client.aborted && apiErrorOf(error).status !== 400) {
        this.open.add({ key, error, at: Date.now(), askedAgain: false });
      }
      throw error;
    }
  }

  /** Forgets those before a time (ms since 1970). */
  forget(since: number): void {
    for (const failure of this.open) if (failure.at < since) this.open.delete(failure);
  }
}
