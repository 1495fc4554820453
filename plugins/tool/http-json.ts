import { setTimeout as sleep } from "node:timers/promises";

const MOST_BYTES = 16 * 2 ** 20;
/** Statuses that pass by themselves. */
const PASSING = new Set([408, 429, 500, 502, 503, 504]);

export interface PostOptions {
  signal: AbortSignal;
  headers?: Readonly<Record<string, string>>;
  /** Further attempts after a connection that broke, and after an answer that says to come again. Default: 3. */
  retries?: number;
  /** Seconds before the first of them, twice as long before each next one. Default: 0.5. */
  retryDelay?: number;
}

/** Posts JSON and gives the answer's JSON, at most 16 MiB of it. @throws Error in words, once all attempts have failed. */
export async function postJson(url: string, body: unknown, options: PostOptions): Promise<unknown> {
  const { signal, retries = 3, retryDelay = 0.5 } = options;
  for (let attempt = 0; ; attempt += 1) {
    const result = await post(url, body, options);
    if ("value" in result) return result.value;
    if (attempt >= retries || !result.passing) throw new Error(result.reason);
    await sleep(retryDelay * 1000 * 2 ** attempt, undefined, { signal });
  }
}

type PostResult = { value: unknown } | { reason: string; passing: boolean };

async function post(url: string, body: unknown, { signal, headers }: PostOptions): Promise<PostResult> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json", ...headers },
      body: JSON.stringify(body),
      signal,
    });
    const text = await textOf(response);
    if (response.ok) return { value: JSON.parse(text) };
    return { reason: `HTTP ${response.status}: ${text.slice(0, 200)}`, passing: PASSING.has(response.status) };
  } catch (error) {
    signal.throwIfAborted();
    const { message, cause } = error as Error;
    const passing = !(error instanceof SyntaxError || error instanceof TooLarge);
    return { reason: cause instanceof Error ? `${message}: ${cause.message}` : message, passing };
  }
}

class TooLarge extends Error {}

async function textOf(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MOST_BYTES) throw new TooLarge(`the answer has more than ${MOST_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
