import { tellStrayError } from "../errors/stray-errors.ts";
import { packError } from "./packed-error.ts";
import type { RankChannel } from "./rank-channel.ts";

/**
 * Tells the controller what ends this thread or process, with its stack, before it does; what the worker's own handler takes does not, and
 * neither does what is contained.
 */
export function tellUncaught(channel: RankChannel): void {
  process.on("uncaughtExceptionMonitor", (error: unknown) => {
    // Node looks for a handler of the error after this one has heard of it, and ends the rank where there is none.
    if (tellStrayError(error)) process.once("uncaughtException", () => undefined);
    if (process.listenerCount("uncaughtException") > 0) return;
    void channel.send({ head: { type: "uncaught", error: packError(error) }, blobs: [] });
  });
}
