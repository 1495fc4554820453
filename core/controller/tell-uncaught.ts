import { packError } from "./packed-error.ts";
import type { RankChannel } from "./rank-channel.ts";

/** Tells the controller what ends this thread or process, with its stack, before it does; what the worker's own handler takes does not. */
export function tellUncaught(channel: RankChannel): void {
  process.on("uncaughtExceptionMonitor", (error: unknown) => {
    if (process.listenerCount("uncaughtException") > 0) return;
    void channel.send({ head: { type: "uncaught", error: packError(error) }, blobs: [] });
  });
}
