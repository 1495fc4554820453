import { stringifyLosslessJson } from "../../data/lossless-json.ts";
import { fetchFailure, parseRetryAfter, ServiceError } from "./service-error.ts";

export interface JsonClientOptions {
  /** `http://` or `https://`. */
  readonly url: string;
  /** Sent as `Authorization: Bearer …`. */
  readonly token?: string;
  /** Bytes of an answer at most. Default: 16 MiB. */
  readonly maxBytes?: number;
  /** Seconds that one request may take. Default: as long as its signal lets it. */
  readonly timeoutS?: number;
  /** Default: redirects are errors, so that a token goes nowhere else. */
  readonly followRedirects?: boolean;
}

const MOST_BYTES = 16 * 2 ** 20;

/** Posts JSON to one address and reads the JSON that comes back. */
export class JsonClient {
  constructor(private readonly options: JsonClientOptions) {}

  /** @throws ServiceError with the status, or why there is none; the reason of `signal`. */
  async post(body: unknown, signal?: AbortSignal): Promise<unknown> {
    const { url, token, timeoutS, followRedirects = false } = this.options;
    const patience = timeoutS === undefined ? undefined : AbortSignal.timeout(timeoutS * 1000);
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json",
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
        },
        body: stringifyLosslessJson(body),
        redirect: followRedirects ? "follow" : "error",
        signal: AbortSignal.any([signal, patience].filter((limit) => limit !== undefined)),
      });
      return await this.read(response);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof ServiceError) throw error;
      if (patience?.aborted) throw new ServiceError(`no answer in ${timeoutS} s`, undefined, undefined, true);
      const { cause } = error as { cause?: { message?: string } };
      throw new ServiceError(fetchFailure(error), undefined, undefined, cause?.message !== "unexpected redirect");
    }
  }

  private async read(response: Response): Promise<unknown> {
    const text = await this.textOf(response);
    const { status, headers } = response;
    if (!response.ok) {
      const after = headers.get("retry-after");
      const retryAfterS = after === null ? undefined : parseRetryAfter(after);
      throw new ServiceError(`HTTP ${status}: ${text.slice(0, 200)}`, status, retryAfterS);
    }
    try {
      return JSON.parse(text);
    } catch {
      throw new ServiceError(`the answer is no JSON: ${text.slice(0, 100)}`, undefined, undefined, false);
    }
  }

  private async textOf(response: Response): Promise<string> {
    const { maxBytes = MOST_BYTES } = this.options;
    const decoder = new TextDecoder();
    let text = "";
    let bytes = 0;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes)
        throw new ServiceError(`the answer has more than ${maxBytes} bytes`, undefined, undefined, false);
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  }
}
