import { setTimeout as pause } from "node:timers/promises";
import type { Logger } from "../../registry/index.ts";
import type { NodeResources } from "../node-resources.ts";
import { noRoom, planResources } from "../resource-plan.ts";
import { poolError, type ResourcePool } from "../resource-pool.ts";

export interface RoomOptions {
  /** Name of the group, for messages. */
  readonly name: string;
  readonly pool: ResourcePool;
  /** What the cluster has; undefined once that cannot be told, which ends the start otherwise. */
  readonly nodes: () => Promise<readonly NodeResources[] | undefined>;
  /** The holders that hold places of this very pool: what they have is the start's own, and not waited for. */
  readonly own: ReadonlySet<string>;
  /** True once every rank has its place. */
  readonly placed: () => boolean;
  readonly deadlineS: number;
  readonly log: Logger;
  /** Fires once every rank's process runs, or the start is over otherwise. */
  readonly over: AbortSignal;
}

/** How often the cluster is asked what it has. */
const ASK_AGAIN_MS = 1000;

/**
 * Waits until a group's ranks have places and run in them, and says what is waited for.
 * @throws VERL_CONTROLLER_POOL at the deadline, and at once for what no machine of the cluster has
 */
export async function waitForRoom(options: RoomOptions): Promise<void> {
  const { name, pool, nodes, own, placed, deadlineS, log, over } = options;
  const end = Date.now() + deadlineS * 1000;
  for (let told = false; ;) {
    await pause(Math.min(ASK_AGAIN_MS, Math.max(end - Date.now(), 0)), undefined, { signal: over }).catch(
      () => undefined,
    );
    if (over.aborted) return;
    const late = Date.now() >= end;
    if (placed()) {
      if (late) throw notStarted(name, pool, "have their places, but did not start in them", deadlineS);
      continue;
    }
    const there = await nodes();
    if (!there) return;
    if (over.aborted || placed()) continue;
    const plan = planResources(
      pool.roots,
      there.map((node) => withoutHolders(node, own)),
    );
    if (late && plan.fits) throw notStarted(name, pool, "have room, but did not start in it", deadlineS);
    if (late || !plan.possible) throw noRoom(plan, deadlineS);
    if (!told && !plan.fits) {
      [...plan.lines, `Waiting for resources, at most ${deadlineS} s.`].forEach((line) => log.info(line));
      told = true;
    }
  }
}

/** The same machine as if these held nothing of it. */
function withoutHolders(node: NodeResources, without: ReadonlySet<string>): NodeResources {
  const free: Record<string, number> = { ...node.free };
  for (const { who, holds } of node.holders) {
    if (!without.has(who)) continue;
    for (const [name, amount] of Object.entries(holds)) free[name] = (free[name] ?? 0) + amount;
  }
  return { ...node, free, holders: node.holders.filter(({ who }) => !without.has(who)) };
}

const notStarted = (name: string, { maxColocateCount }: ResourcePool, how: string, deadlineS: number): Error =>
  poolError(
    `The ranks of ${name} ${how} within ${deadlineS} s.`,
    `At most ${maxColocateCount} worker groups stand side by side in this pool (maxColocateCount): one more waits until another is disposed. A loaded machine may need more time: in the config, controller.start_timeout_s.`,
  );
