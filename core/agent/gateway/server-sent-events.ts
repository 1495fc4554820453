import type { ServerResponse } from "node:http";

/** Lines that keep a stream open while the engine is busy. */
const KEEP_ALIVE_MS = 15_000;

/** One event on the wire. */
export const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`;

/** Answers by server-sent events. What goes wrong before the first is told as a plain response; a busy engine is waited for. */
export async function stream<A>(
  response: ServerResponse,
  answering: Promise<A>,
  chunksOf: (answers: A) => Iterable<object>,
): Promise<void> {
  const open = (): void => {
    if (response.headersSent) return;
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  };
  const timer = setInterval(() => {
    open();
    response.write(": waiting\n\n");
  }, KEEP_ALIVE_MS);
  // An engine may go on after its client is gone.
  response.once("close", () => clearInterval(timer));
  try {
    const answers = await answering;
    open();
    for (const chunk of chunksOf(answers)) response.write(event(chunk));
    response.end("data: [DONE]\n\n");
  } finally {
    clearInterval(timer);
  }
}
