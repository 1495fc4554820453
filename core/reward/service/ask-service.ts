import type { JsonClient } from "./json-client.ts";
import { ServiceError } from "./service-error.ts";
import { withRetries, type RetryPause } from "./with-retries.ts";

export interface ServiceQuestion<T> {
  readonly client: JsonClient;
  readonly body: unknown;
  /** What a good answer has, in words. */
  readonly wanted: string;
  /** Finds it; undefined where the answer has none. */
  readonly read: (answer: Record<string, unknown>) => T | undefined;
  readonly signal?: AbortSignal;
  /** Default: that of {@link withRetries}. */
  readonly pause?: RetryPause;
  /** What the message of a failure begins with, such as "the search gave no result". */
  readonly failure?: string;
}

/** Characters of an answer that are shown. */
const SHOWN = 200;

/**
 * Asks a service, again where that may help, for an answer that is a JSON object.
 * @throws ServiceError that says what the service did: its status and the start of its answer, or how the connection broke, and how
 *   often it was asked; the reason of `signal`.
 */
export async function askService<T>(question: ServiceQuestion<T>): Promise<T> {
  const { client, body, wanted, read, signal, pause, failure } = question;
  try {
    const answer = await withRetries(() => client.post(body, signal), { signal, pause });
    const found = isMap(answer) ? read(answer) : undefined;
    if (found !== undefined) return found;
    const text = JSON.stringify(answer);
    const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
    throw new ServiceError(`the answer has no ${wanted}: ${shown}`, undefined, undefined, false);
  } catch (error) {
    if (failure === undefined || !(error instanceof ServiceError)) throw error;
    throw new ServiceError(`${failure}: ${error.message}`, error.status, error.retryAfterS, error.transient);
  }
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
