import { fetchFailure } from "verl";
import { readableEvents } from "./event-stream.ts";
import { readMessage, unmarkedText } from "./large-integers.ts";
import { MOST_BYTES, TOO_LONG } from "./message-bytes.ts";

/** `fetch` for a transport of messages: large integers survive, and answers are read up to a bound. @throws Error for one that is longer, or why there is none */
export async function readableFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const text = typeof init?.body === "string" ? init.body : undefined;
  const request = text === undefined ? init : { ...init, body: unmarkedText(text) };
  const response = await fetch(url, request).catch((cause: unknown) => {
    throw new Error(fetchFailure(cause), { cause });
  });
  const { body, status, headers } = response;
  // Others are not read.
  if (body === null || (status >= 300 && status < 400)) return response;
  const type = headers.get("content-type") ?? "";
  const read = type.startsWith("text/event-stream")
    ? streamOf(readableEvents(body, askedIn(text)))
    : reread(await textOf(body), type);
  return new Response(read, { status, statusText: response.statusText, headers });
}

/** The id of the request that a body holds. */
function askedIn(text: string | undefined): unknown {
  const { id, method } = JSON.parse(text ?? "{}") as { id?: unknown; method?: unknown };
  return method === undefined ? undefined : id;
}

const reread = (text: string, type: string): string =>
  type.startsWith("application/json") && text !== "" ? JSON.stringify(readMessage(text)) : text;

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > MOST_BYTES) throw new Error(TOO_LONG);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

/** Leaving the stream ends the generator, and with it the connection. */
const streamOf = (events: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async pull(controller) {
      const next = await events.next();
      if (next.done === true) controller.close();
      else controller.enqueue(next.value);
    },
    async cancel() {
      await events.return(undefined);
    },
  });
