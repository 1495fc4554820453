import { availableParallelism } from "node:os";
import type { Logger } from "../registry/index.ts";
import { startFailure } from "./call-failure.ts";
import { closedTransport, disposedRank, STOP_S, undisposed, unended } from "./rank-end.ts";
import type { GroupCall } from "./group-call.ts";
import type { NodeResources } from "./node-resources.ts";
import { failedPart } from "./part-failure.ts";
import { ExchangeHub, MeetingPeers } from "./peers.ts";
import { callRegistered } from "./register.ts";
import { noRoom, planResources } from "./resource-plan.ts";
import type { RankPlace, ResourcePool } from "./resource-pool.ts";
import { steadyMetrics } from "./steady-metrics.ts";
import { rankEnv, type RankHandle, type SpawnRequest, type Transport } from "./transport.ts";
import type { Worker } from "./worker.ts";

const THIS_THREAD = "this thread";

/**
 * Workers in the controller's own thread: nothing is copied, and a debugger steps straight into them. Nor is anything checked: arguments and
 * results reach the other side as they are, functions and instances of classes too, which other transports refuse by VERL_WORKER_PAYLOAD.
 * The machines of a pool are stood in for: ranks are numbered by them, as `localRank` and `LOCAL_WORLD_SIZE` say. Only a resource plan
 * says that there is one. Devices are not: a pool whose ranks are to hold some is refused.
 */
export class InlineTransport implements Transport {
  private closed = false;

  resources(): Promise<readonly NodeResources[]> {
    return Promise.resolve([thisMachine()]);
  }

  async spawn(request: SpawnRequest): Promise<readonly RankHandle[]> {
    if (this.closed) throw closedTransport();
    const { name, worker, pool, env, log, metrics, local } = request;
    requireHere(pool);
    const hub = new ExchangeHub(pool.worldSize);
    const handles: InlineRank[] = [];
    for (const place of pool.places) {
      const { rank, localRank, localWorldSize } = place;
      const peers: MeetingPeers = new MeetingPeers(
        rank,
        pool.worldSize,
        (next, value) =>
          new Promise((deliver) => {
            const turn = next();
            hub.bring(rank, turn, { value, deliver, missed: (gone) => peers.missed(gone, turn) });
          }),
      );
      const context = {
        rank,
        worldSize: pool.worldSize,
        localRank,
        localWorldSize,
        env: { ...env, ...rankEnv(place, pool.worldSize) },
        peers,
        log,
        metrics: steadyMetrics(metrics, log, { group: name, rank }),
        local,
      };
      try {
        handles.push(new InlineRank(place, name, log, worker.construct(context), peers, hub));
      } catch (error) {
        const failure = failedPart(error);
        for (const worker of failure.before?.toReversed() ?? []) await disposeWorker(worker, name, rank, log);
        await Promise.all(handles.map((handle) => handle.dispose()));
        throw startFailure(request, rank, THIS_THREAD, failure);
      }
    }
    return handles;
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }
}

/** A rank that cannot be lost: it is as alive as the controller. */
class InlineRank implements RankHandle {
  readonly rank: number;
  readonly place = THIS_THREAD;
  private disposed = false;
  /** What ends each call that is under way. */
  private readonly calls = new Set<() => void>();

  constructor(
    { rank }: RankPlace,
    private readonly group: string,
    private readonly log: Logger,
    private readonly worker: Worker,
    private readonly peers: MeetingPeers,
    private readonly hub: ExchangeHub,
  ) {
    this.rank = rank;
  }

  call(method: string, args: readonly unknown[], call: GroupCall): Promise<unknown> {
    const { group, rank, place } = this;
    return new Promise((resolve, reject) => {
      const end = (): void => reject(disposedRank({ group, rank, place, method }));
      if (this.disposed) return end();
      this.calls.add(end);
      this.peers
        .within(call, `${group}.${method}`, async () => callRegistered(this.worker, method, args))
        .then((result) => {
          if (call.whole) this.hub.leave(rank, call);
          resolve(result);
        })
        .catch(reject)
        .finally(() => this.calls.delete(end));
    });
  }

  interrupt(reason: string, call?: GroupCall): void {
    this.hub.interrupt(call);
    this.peers.interrupt(reason, call);
  }

  onHealth(): void {}

  async dispose(): Promise<void> {
    if (this.disposed) return;
    this.disposed = true;
    await disposeWorker(this.worker, this.group, this.rank, this.log);
    // Nobody is left to end them.
    for (const end of this.calls) end();
  }
}

/** One that fails at it is logged as a warning, and so is one that does not end within seconds: it cannot be killed, and is left. */
async function disposeWorker(worker: Worker, group: string, rank: number, log: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), STOP_S * 1000)));
  const disposed = (async () => worker.dispose())().catch((error: unknown) => log.warn(undisposed(group, rank, error)));
  const how = await Promise.race([disposed, late]);
  clearTimeout(timer);
  if (how === "late") log.warn(unended(group, rank, THIS_THREAD, "it is left as it is"));
}

/** The cores of this machine, on which any number of ranks run, if slower. Nobody hands out other devices of it. */
export function thisMachine(): NodeResources {
  const CPU = availableParallelism();
  return { node: "this machine", total: { CPU }, free: { CPU }, holders: [], elastic: true };
}

/** @throws VERL_CONTROLLER_POOL for a pool whose ranks are to hold what nobody hands out here */
export function requireHere(pool: ResourcePool): void {
  const here = thisMachine();
  const strange = Object.entries(pool.perPlace).some(([name, amount]) => amount > 0 && !(name in here.total));
  if (strange) throw noRoom(planResources([pool], [here]), 0);
}
