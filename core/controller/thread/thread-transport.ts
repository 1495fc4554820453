import { MessageChannel, Worker as Thread, type MessagePort } from "node:worker_threads";
import { workerEntry } from "../../registry/worker-entry.ts";
import { requireHere, thisMachine } from "../inline-transport.ts";
import type { NodeResources } from "../node-resources.ts";
import { closedTransport, endedBy } from "../rank-end.ts";
import { startRank } from "../remote-rank.ts";
import type { RankPlace } from "../resource-pool.ts";
import type { RankHandle, SpawnRequest, Transport } from "../transport.ts";
import { endThread, watchThread } from "./park-ranks.ts";
import { PortChannel, type ThreadPort } from "./port-channel.ts";
import type { ThreadData } from "./thread-rank.ts";

/**
 * Each rank in a thread of this process: batches are moved, and large sums between ranks are made in shared memory. The machines of a pool
 * are stood in for, as by `InlineTransport`.
 */
export class ThreadTransport implements Transport {
  /** What ends each. */
  private readonly threads = new Map<Thread, () => Promise<void>>();
  private closing = false;

  resources(): Promise<readonly NodeResources[]> {
    return Promise.resolve([thisMachine()]);
  }

  async spawn(request: SpawnRequest): Promise<readonly RankHandle[]> {
    if (this.closing) throw closedTransport();
    requireHere(request.pool);
    const { places } = request.pool;
    const meshes = portMesh(places.length);
    const starts = places.map((place, rank) => this.start(request, place, meshes[rank]!));
    const settled = await Promise.allSettled(starts);
    const failed = settled.find((start) => start.status === "rejected");
    const handles = settled.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
    if (!failed) return handles;
    await Promise.all(handles.map((handle) => handle.dispose()));
    throw failed.reason;
  }

  async close(): Promise<void> {
    this.closing = true;
    await Promise.all(Array.from(this.threads.values(), (end) => end()));
  }

  private start(request: SpawnRequest, place: RankPlace, ports: readonly (MessagePort | null)[]): Promise<RankHandle> {
    const canPark = new Int32Array(new SharedArrayBuffer(4));
    const workerData: ThreadData = { ports, canPark };
    const thread = new Thread(workerEntry(new URL("./thread-rank.ts", import.meta.url)), {
      name: `${request.name}:${place.rank}`,
      env: { ...process.env },
      workerData,
      transferList: ports.filter((port) => port !== null),
    });
    watchThread(thread, canPark);
    const channel = new PortChannel(portOf(thread));
    const end = async (): Promise<void> => {
      await endThread(thread, request.health.lostS);
      // Nobody waits any more for one that is still in native code.
      channel.lost("does not end");
    };
    this.threads.set(thread, end);
    let fault: string | undefined;
    // Anything can be thrown.
    thread.on("error", (error: unknown) => (fault = endedBy(error)));
    thread.on("exit", (code) => {
      this.threads.delete(thread);
      channel.lost(fault ?? (code === 0 ? "ended itself" : `exited with code ${code}`));
    });
    return startRank(request, place, {
      where: `thread ${thread.threadId}`,
      channel,
      closing: () => this.closing,
      kill: end,
    });
  }
}

/** A thread as a port; it closes when the thread ends. */
function portOf(thread: Thread): ThreadPort {
  return {
    postMessage: (message, transfer) => thread.postMessage(message, transfer),
    on: (event, listener) => thread.on(event, listener),
    close: () => undefined,
  };
}

/** A port between any two ranks: `meshes[i][j]` is rank i's to rank j. */
function portMesh(worldSize: number): (MessagePort | null)[][] {
  const meshes = Array.from({ length: worldSize }, () => new Array<MessagePort | null>(worldSize).fill(null));
  for (let low = 0; low < worldSize; low++) {
    for (let high = low + 1; high < worldSize; high++) {
      const { port1, port2 } = new MessageChannel();
      meshes[low]![high] = port1;
      meshes[high]![low] = port2;
    }
  }
  return meshes;
}
