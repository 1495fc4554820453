import { isMainThread, parentPort, Worker } from "node:worker_threads";
import type { ToHost } from "./messages.ts";
import { serve } from "./serve.ts";

/*
 * Entry of the processes and threads in which score functions run.
 */

/** How often a process looks whether it should still be there. */
const WATCH_MS = 250;

/**
 * A thread beside the score function: where that loops or takes memory without end, nothing else in the process can act. The process
 * ends with its parent, and when it holds more memory than it may; buffers outside of the heap count.
 */
const WATCHDOG = `
const { workerData } = require("node:worker_threads");
const end = () => process.kill(process.pid, "SIGKILL");
setInterval(() => {
  if (process.ppid !== workerData.parent || process.memoryUsage.rss() > workerData.bytes) end();
}, workerData.every);
`;

if (isMainThread) {
  const bytes = Number(process.env["VERL_SCORE_HOST_BYTES"]);
  const workerData = { parent: process.ppid, bytes, every: WATCH_MS };
  new Worker(WATCHDOG, { eval: true, execArgv: [], workerData }).unref();
  process.on("disconnect", () => process.exit());
  serve({
    post: (message) => void process.send!(message, undefined, undefined, () => undefined),
    onMessage: (take) => void process.on("message", (message) => take(message as ToHost)),
  });
} else {
  const port = parentPort!;
  serve({ post: (message) => port.postMessage(message), onMessage: (take) => void port.on("message", take) });
}
