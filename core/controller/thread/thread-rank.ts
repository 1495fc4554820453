import { parentPort, workerData, type MessagePort } from "node:worker_threads";
import { serveRank } from "../serve-rank.ts";
import { tellUncaught } from "../tell-uncaught.ts";
import { parkWhenAsked, type CanPark } from "./park-ranks.ts";
import { PortChannel } from "./port-channel.ts";
import { SharedPeers } from "./shared-peers.ts";

/*
 * Entry of a rank's thread. It has an environment of its own, so what it sets is seen by nobody else.
 */

export interface ThreadData {
  /** A port to each other rank, by rank; null for itself. */
  readonly ports: readonly (MessagePort | null)[];
  readonly canPark: CanPark;
}

const { ports, canPark } = workerData as ThreadData;

const channel = new PortChannel(parentPort!);
tellUncaught(channel);
parkWhenAsked(canPark);
await serveRank(channel, {
  peers: (spec) => {
    Object.assign(process.env, spec.env);
    return new SharedPeers(spec.rank, spec.worldSize, ports);
  },
});
// What the worker left open must not keep the thread.
process.exit();
