import { readMessage } from "./large-integers.ts";
import { failedAnswer, MessageBytes } from "./message-bytes.ts";

const NEWLINE = 0x0a;
const DATA = "data:";

/**
 * The server-sent events of an answer, read by `readMessage`, the messages that are too long left out. A stream that ends without the
 * answer that it was asked for, and cannot be resumed, ends with one that fails the call, which would wait until its deadline otherwise.
 * A message in several lines of data, which no server writes, is left as it is.
 * @param asked id of the request that the stream answers; undefined: of none
 * @throws what the connection breaks with, where no call waits for an answer of it
 */
export async function* readableEvents(body: AsyncIterable<Uint8Array>, asked: unknown): AsyncGenerator<Uint8Array> {
  const line = new MessageBytes(`${DATA} `);
  let waits = asked !== undefined;
  let fault: Error | undefined;
  const readable = (): string => {
    const text = line.take();
    // With an id, the client takes the stream up again.
    if (/^id:\s*\S/.test(text)) waits = false;
    if (!text.startsWith(DATA)) return text;
    const message = messageOf(text.slice(DATA.length));
    if (message === undefined) return text;
    if (message.id === asked && message.method === undefined) waits = false;
    return `${DATA} ${JSON.stringify(message)}`;
  };
  try {
    for await (const bytes of body) {
      const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      let lines = "";
      let start = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        line.add(chunk.subarray(start, end));
        lines += `${readable()}\n`;
        start = end + 1;
      }
      line.add(chunk.subarray(start));
      if (lines !== "") yield Buffer.from(lines);
    }
  } catch (error) {
    fault = error as Error;
  }
  if (waits) {
    const why = fault === undefined ? "" : `: ${fault.message}`;
    yield Buffer.from(`\n\n${DATA} ${failedAnswer(asked, `the connection ended without an answer${why}`)}\n\n`);
  } else if (fault !== undefined) throw fault;
}

function messageOf(text: string): Record<string, unknown> | undefined {
  try {
    return (readMessage(text) as Record<string, unknown> | null) ?? undefined;
  } catch {
    return undefined;
  }
}
