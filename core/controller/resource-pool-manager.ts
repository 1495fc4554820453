import { poolError, ResourcePool, type ResourcePoolOptions } from "./resource-pool.ts";
import { quoted } from "./kind-of.ts";
import { didYouMean } from "./group-arguments.ts";
import type { NodeResources } from "./node-resources.ts";
import { noRoom, planResources, type ResourcePlan } from "./resource-plan.ts";
import type { Transport } from "./transport.ts";

export interface WaitOptions {
  /** Seconds that resources, and the transport's answers of what there is, may take to come. */
  deadlineS: number;
  /** Told of the plan once it is known, and of what is waited for. */
  tell: (line: string) => void;
  signal?: AbortSignal;
}

/** How often a cluster is asked again. */
const ASK_AGAIN_MS = 1000;

/** Pools by name, and which of them each role runs in: verl's `ResourcePoolManager`. */
export class ResourcePoolManager<Role extends string = string> {
  private readonly pools: ReadonlyMap<string, ResourcePool>;

  /**
   * @param spec ranks on each machine of each pool: `{ global_pool: [8, 8] }`.
   * @param mapping the pool of each role. @throws VERL_CONTROLLER_POOL for a pool that the spec does not have
   */
  constructor(
    spec: Readonly<Record<string, readonly number[]>>,
    private readonly mapping: Readonly<Record<Role, string>>,
    options: Omit<ResourcePoolOptions, "name"> = { maxColocateCount: 3 },
  ) {
    this.pools = new Map(
      Object.entries(spec).map(([name, processes]) => [name, new ResourcePool(processes, { ...options, name })]),
    );
    for (const [role, pool] of Object.entries<string>(mapping)) {
      if (!this.pools.has(pool)) {
        throw poolError(
          `The role "${role}" is mapped to the pool ${quoted(pool)}, which does not exist.`,
          `${didYouMean(pool, this.pools.keys())}Pools: ${[...this.pools.keys()].join(", ")}.`,
        );
      }
    }
  }

  getResourcePool(role: Role): ResourcePool {
    const pool = this.pools.get(this.mapping[role]);
    if (pool) return pool;
    const mapped = Object.keys(this.mapping);
    const hint = `${didYouMean(role, mapped)}Mapped: ${mapped.join(", ")}.`;
    throw poolError(`The role ${quoted(role)} is mapped to no pool.`, hint);
  }

  /** Ranks of all pools: verl's `get_n_gpus`. */
  get worldSize(): number {
    return [...this.pools.values()].reduce((sum, pool) => sum + pool.worldSize, 0);
  }

  /** What the pools want of the machines that there are. */
  plan(nodes: readonly NodeResources[]): ResourcePlan {
    return planResources([...this.pools.values()], nodes);
  }

  /**
   * Checks the plan before anything is started, and waits until there is room or the deadline has passed.
   * @throws VERL_CONTROLLER_POOL that says what is wanted, what there is, and who holds the rest
   */
  async waitForResources(transport: Transport, { deadlineS, tell, signal }: WaitOptions): Promise<ResourcePlan> {
    const end = Date.now() + deadlineS * 1000;
    let known: ResourcePlan | undefined;
    for (let told = false; ; told = true) {
      signal?.throwIfAborted();
      const nodes = await within(end - Date.now(), signal, () => transport.resources());
      const plan: ResourcePlan | undefined = nodes ? this.plan(nodes) : known;
      if (!plan) {
        throw poolError(
          `The transport has not said within ${deadlineS} s what there is.\n${this.plan([]).lines.join("\n")}`,
          "See that the machines can be reached, or wait longer: deadlineS, in a run controller.start_timeout_s.",
        );
      }
      known = plan;
      if (nodes && plan.fits) {
        plan.lines.forEach(tell);
        return plan;
      }
      if (!plan.possible || !(Date.now() < end)) {
        throw noRoom(plan, deadlineS);
      }
      if (!told) [...plan.lines, `Waiting for resources, at most ${deadlineS} s.`].forEach(tell);
      await pause(Math.min(ASK_AGAIN_MS, Math.max(end - Date.now(), 0)), signal);
    }
  }
}

/** What the work gives; undefined where it has not by then. @throws the signal's reason */
async function within<T>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const done = new AbortController();
  const late = pause(milliseconds, signal ? AbortSignal.any([signal, done.signal]) : done.signal);
  try {
    return (await Promise.race([work(), late])) ?? undefined;
  } finally {
    late.catch(() => undefined);
    done.abort();
  }
}

/** The longest time that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, Math.min(milliseconds, MAX_TIMER_MS));
    function done(): void {
      signal?.removeEventListener("abort", done);
      clearTimeout(timer);
      if (signal?.aborted) reject(signal.reason as Error);
      else resolve();
    }
    signal?.addEventListener("abort", done, { once: true });
  });
}
