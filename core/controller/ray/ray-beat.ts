import { workerData } from "node:worker_threads";
import { keepBeat } from "../channel/beat.ts";
import { dial, type Link } from "../channel/dial.ts";

/*
 * A thread beside each rank that answers for its process: whatever keeps the rank's own event loop busy, the controller knows that the
 * process and the way to it are alive, and the process ends when the controller is gone.
 */

export interface BeatData {
  readonly link: Link;
  /** Seconds without a word of the controller after which the process ends itself. */
  readonly silentS: number;
}

/** How long the rank may take to end by itself when the controller has closed the connection. */
const GRACE_MS = 5000;

const end = (): boolean => process.kill(process.pid, "SIGKILL");

const { link, silentS } = workerData as BeatData;
const channel = await dial(link);
keepBeat(channel, () => silentS, end);
channel.onClose(() => setTimeout(end, GRACE_MS));
