import { VerlError } from "../../errors/index.ts";
import type { Logger } from "../../registry/logger.ts";
import { keepBeat } from "../channel/beat.ts";
import type { TcpChannel } from "../channel/tcp-channel.ts";
import type { NodeResources, Resources } from "../node-resources.ts";

/**
 * What the driver is asked to start: one process in one bundle of a placement group, which is made when it is first named, and given
 * back when no process of its pool is left.
 */
export interface RankOrder {
  readonly id: string;
  readonly pool: string;
  readonly group: { readonly id: string; readonly bundles: readonly Resources[] };
  /** Index in the group's bundles. */
  readonly bundle: number;
  readonly resources: Resources;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where that folder exists. */
  readonly cwd: string;
  /** Given to the process on its standard input, which is then held open. */
  readonly first_line: string;
}

/** What became of a process. */
export type RankEvent =
  /** There is room for it: it is being started. */
  | { readonly type: "placed" }
  | { readonly type: "started"; readonly ip: string; readonly pid: number }
  /** `code` is negative for a signal. `tail` are its last lines, without native frames. */
  | { readonly type: "exited"; readonly code: number; readonly tail: string }
  | { readonly type: "lost"; readonly reason: string };

/** How the driver was launched, and what is known of its process. */
export interface LaunchedDriver {
  /** Settles when it has ended, with its last words. */
  readonly ended: Promise<string>;
  /** Ends it at once. */
  kill(): Promise<void>;
}

type FromDriver =
  | { type: "ready" }
  | { type: "beat" }
  | { type: "nodes"; request: number; nodes: DriverNode[] }
  | (RankEvent & { id: string });

/**
 * How a placement group is called among the holders of a machine's resources. @param run what the names of this run's own begin with
 * @param leaving it is removed, and Ray has still to free its places
 */
export const holderName = (group: string, run: string, leaving: boolean): string =>
  `${group.startsWith(`${run}_`) ? "this run's " : ""}placement group ${group}${leaving ? " (on its way out)" : ""}`;

interface DriverNode {
  node: string;
  total: Resources;
  free: Resources;
  /** One a bundle. */
  held: [group: string, holds: Resources, leaving: boolean][];
}

/** Seconds without a word after which the driver is given up. */
const SILENT_S = 8;
/** The same while it joins the cluster: Ray then holds Python's lock, which on a busy machine takes long. */
const JOINING_SILENT_S = 60;
/** Seconds that joining may take. */
const JOINING_S = 180;
const END_MS = 15_000;

/** The controller's side of driver.py, once it has connected. */
export class RayDriver {
  private readonly listeners = new Map<string, (event: RankEvent) => void>();
  private readonly asked = new Map<number, (nodes: DriverNode[]) => void>();
  private requests = 0;
  private ending = false;
  /** Settles with the reason when the driver is gone. */
  readonly gone: Promise<string>;

  constructor(
    private readonly channel: TcpChannel,
    private readonly launched: LaunchedDriver,
    private readonly log: Logger,
    private readonly run: string,
  ) {
    this.gone = new Promise((resolve) => channel.onClose(resolve));
  }

  /** Waits until it has joined the cluster. */
  ready(): Promise<void> {
    return new Promise((resolve, reject) => {
      let joined = false;
      const late = `has not joined the cluster within ${JOINING_S} s`;
      const timer = setTimeout(() => this.channel.close(late, true), JOINING_S * 1000);
      void this.gone.then(() => clearTimeout(timer));
      const ready = (): void => {
        joined = true;
        clearTimeout(timer);
        resolve();
      };
      void this.gone.then((reason) => reject(lostDriver(reason)));
      keepBeat(
        this.channel,
        () => (joined ? SILENT_S : JOINING_SILENT_S),
        (reason) => this.channel.close(reason, true),
        ({ head }) => this.understand(head as FromDriver, ready),
      );
    });
  }

  async nodes(): Promise<readonly NodeResources[]> {
    const request = this.requests++;
    const nodes = await new Promise<DriverNode[]>((resolve, reject) => {
      this.asked.set(request, resolve);
      void this.gone.then((reason) => reject(lostDriver(reason)));
      this.say("nodes", request);
    });
    return nodes.map(({ node, total, free, held }) => ({
      node,
      total: plain(total),
      // What is used up is not in Ray's list.
      free: { ...Object.fromEntries(Object.keys(plain(total)).map((name) => [name, 0])), ...plain(free) },
      holders: this.holders(held),
    }));
  }

  /** @param tell gets what becomes of each process; after `exited` or `lost` nothing follows. */
  start(orders: readonly RankOrder[], tell: (id: string, event: RankEvent) => void): void {
    for (const { id } of orders) this.listeners.set(id, (event) => tell(id, event));
    this.say("start", orders);
  }

  /** Ends a process, or takes back the order of one that has not started. */
  stop(id: string): void {
    this.say("stop", id);
  }

  /** Ends all processes, gives the places back, and ends the driver. */
  async end(): Promise<void> {
    if (this.ending) return;
    this.ending = true;
    this.say("end", 0);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<"late">((resolve) => (timer = setTimeout(() => resolve("late"), END_MS)));
    const how = await Promise.race([this.launched.ended, late]);
    clearTimeout(timer);
    if (how === "late") this.log.warn(`The Ray driver did not end within ${END_MS / 1000} s; it is killed.`);
    await this.launched.kill();
    this.channel.close("has ended", true);
  }

  /** What each holds in all its bundles. */
  private holders(held: DriverNode["held"]): NodeResources["holders"] {
    const sums = new Map<string, Record<string, number>>();
    for (const [group, holds, leaving] of held) {
      const who = holderName(group, this.run, leaving);
      const sum = sums.get(who) ?? {};
      sums.set(who, sum);
      for (const [name, amount] of Object.entries(plain(holds))) sum[name] = (sum[name] ?? 0) + amount;
    }
    return Array.from(sums, ([who, holds]) => ({ who, holds }));
  }

  private understand(message: FromDriver, ready: () => void): void {
    if (message.type === "beat") return;
    if (message.type === "ready") return ready();
    if (message.type === "nodes") {
      this.asked.get(message.request)?.(message.nodes);
      this.asked.delete(message.request);
      return;
    }
    const { id, ...event } = message;
    this.listeners.get(id)?.(event);
    if (event.type === "exited" || event.type === "lost") this.listeners.delete(id);
  }

  private say(type: string, about: unknown): void {
    void this.channel.send({ head: { type, about }, blobs: [] });
  }
}

export function lostDriver(reason: string): VerlError {
  return new VerlError("VERL_RAY_CLUSTER", `The driver in the Ray cluster ${reason}.`, {
    hint: "See that the cluster runs (`ray status`), that its machines reach this one, and that controller.ray.python is a Python with the cluster's own version of Ray.",
  });
}

/** Ray counts machines and labels as resources, too, and shows memory in bytes: what is asked for here is devices. */
function plain(resources: Resources): Resources {
  return Object.fromEntries(
    Object.entries(resources).filter(
      ([name]) =>
        !/^(node:|bundle_|accelerator_type:|memory$|object_store_memory$)/.test(name) && !/_group_/.test(name),
    ),
  );
}
