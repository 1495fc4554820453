import { Socket } from "node:net";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { FrameReader, toFrame } from "./frames.ts";
import { FROM_HOST_FD, TO_HOST_FD, type ToHost } from "./messages.ts";
import { EMPTY_OUTBOX, Outbox } from "./outbox.ts";
import { serve } from "./serve.ts";

/*
 * Entry of the processes and threads in which score functions run.
 */

/** How often a process looks whether it should still be there. */
const WATCH_MS = 250;

/**
 * A thread beside the score function: where that loops or takes memory without end, nothing else in the process can act. It sends what was
 * answered. The process ends with its parent, and when it holds more memory than it may; buffers outside of the heap count.
 */
const ATTENDANT = `
${EMPTY_OUTBOX}
const { workerData } = require("node:worker_threads");
const { outbox, parent, bytes, every } = workerData;
try {
  for (let watched = 0; process.ppid === parent; ) {
    empty(outbox, every);
    if (performance.now() - watched < every) continue;
    watched = performance.now();
    if (process.memoryUsage.rss() > bytes) break;
  }
} finally {
  process.kill(process.pid, "SIGKILL");
}
`;

if (isMainThread) {
  const outbox = new Outbox(FROM_HOST_FD);
  const bytes = Number(process.env["VERL_SCORE_HOST_BYTES"]);
  const workerData = { outbox: outbox.data, parent: process.ppid, bytes, every: WATCH_MS };
  new Worker(ATTENDANT, { eval: true, execArgv: [], workerData }).unref();
  process.on("exit", () => outbox.drain());
  serve({ post: (message, last) => outbox.put(toFrame(message), last), onMessage: receive });
} else {
  const port = parentPort!;
  serve({ post: (message) => port.postMessage(message), onMessage: (take) => void port.on("message", take) });
}

function receive(take: (message: ToHost) => void): void {
  const reader = new FrameReader((message) => take(message as ToHost));
  const line = new Socket({ fd: TO_HOST_FD, readable: true });
  line.on("data", (chunk) => reader.push(chunk));
  line.on("close", () => process.exit());
}
