import type { VerlError } from "../errors/index.ts";
import type { NodeResources, Resources } from "./node-resources.ts";
import { poolError, type ResourcePool } from "./resource-pool.ts";

/** What pools want, set against what there is. */
export interface ResourcePlan {
  /** Every machine of every pool has found one to run on. */
  readonly fits: boolean;
  /** It would fit if nobody else held anything: worth waiting for. */
  readonly possible: boolean;
  /** The transport reaches no machine but its own. */
  readonly oneMachine: boolean;
  /** In words: what is wanted, and what each machine has and who holds the rest. */
  readonly lines: readonly string[];
}

/** Bundles are few; those of a cluster that is nearly full may be put in very many ways. */
const MAX_TRIES = 20_000;

/** Parts of a resource do not add up exactly: 3 × 0.1 is more than 0.3. Ray itself counts in parts of 0.0001. */
const ROUNDING = 1e-6;

/** What ranks share on a machine that is elastic. */
const CORES = "CPU";

interface Want {
  readonly pool: ResourcePool;
  readonly ranks: number;
  readonly amount: Resources;
}

/** A pool's ranks of one machine stay together, so a plan gives each such bundle a machine; the largest choose first. */
export function planResources(pools: readonly ResourcePool[], nodes: readonly NodeResources[]): ResourcePlan {
  const wants = pools.flatMap(wantsOf);
  const lines = [
    ...pools.map((pool) => {
      const { processOnNodes, perPlace } = pool;
      const machines = processOnNodes.length === 1 ? "one machine" : `${processOnNodes.length} machines`;
      const ranks = pool.worldSize === 1 ? "1 rank" : `${pool.worldSize} ranks`;
      return `Wanted by ${pool.name}: ${ranks} on ${machines}, each rank ${describe(perPlace)}.`;
    }),
    ...nodes.map(({ node, total, free, holders, elastic = false }) => {
      const held = holders.map(({ who, holds }) => `; ${who} holds ${describe(holds)}`);
      const shared = elastic ? ", which any number of ranks share; it is one machine" : "";
      return `Available on ${node}: ${describe(free)} of ${describe(total)}${shared}${held.join("")}.`;
    }),
  ];
  const fits = place(wants, nodes, ({ free }) => free);
  const possible = fits || place(wants, nodes, ({ total }) => total);
  return { fits, possible, oneMachine: nodes.some(({ elastic }) => elastic === true), lines };
}

/** Says what is wanted, what there is, and who holds the rest. @param deadlineS how long that was waited for, where it was worth it */
export function noRoom({ possible, oneMachine, lines }: ResourcePlan, deadlineS: number): VerlError {
  const waited = possible ? ` after ${deadlineS} s` : "";
  // Nobody else holds anything of a transport's own machine.
  const more = oneMachine ? "take a transport that reaches more: ray" : "free what others hold";
  return poolError(
    `There is no room for the worker groups${waited}.\n${lines.join("\n")}`,
    `Ask for fewer ranks (in a run by trainer.nnodes, trainer.n_gpus_per_node), or ${more}.`,
  );
}

function wantsOf(pool: ResourcePool): Want[] {
  return pool.processOnNodes.map((ranks) => ({
    pool,
    ranks,
    amount: Object.fromEntries(Object.entries(pool.perPlace).map(([name, amount]) => [name, amount * ranks])),
  }));
}

function place(
  wants: readonly Want[],
  nodes: readonly NodeResources[],
  has: (node: NodeResources) => Resources,
): boolean {
  const left = nodes.map((node) => ({
    elastic: node.elastic === true,
    pools: new Set<ResourcePool>(),
    amounts: new Map(Object.entries(has(node))),
  }));
  const largestFirst = [...wants].sort((a, b) => b.ranks - a.ranks);
  let tries = 0;
  /** Finds homes from the `at`-th want on; where one leaves no room for a later one, another is tried. */
  const settle = (at: number): boolean => {
    const want = largestFirst[at];
    if (want === undefined) return true;
    const entries = Object.entries(want.amount);
    const refused = new Set<string>();
    for (const { elastic, pools, amounts } of left) {
      if (elastic && pools.has(want.pool)) continue;
      // Machines that have the same left are the same choice.
      const state = JSON.stringify([...amounts]);
      const hasRoom = ([name, wanted]: [string, number]): boolean =>
        (elastic && name === CORES) || (amounts.get(name) ?? 0) >= wanted - ROUNDING;
      if (refused.has(state) || !entries.every(hasRoom)) continue;
      if ((tries += 1) > MAX_TRIES) return false;
      const before = [...amounts];
      for (const [name, wanted] of entries) amounts.set(name, (amounts.get(name) ?? 0) - wanted);
      pools.add(want.pool);
      if (settle(at + 1)) return true;
      pools.delete(want.pool);
      for (const [name, amount] of before) amounts.set(name, amount);
      refused.add(state);
    }
    return false;
  };
  return settle(0);
}

/** In words: `2 CPU and 1 GPU`. */
function describe(resources: Resources): string {
  const parts = Object.entries(resources).map(([name, amount]) => `${amount} ${name}`);
  return parts.join(" and ") || "nothing";
}
