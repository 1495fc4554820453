import type { ErrorLocation } from "../errors/index.ts";
import { registries } from "../registry/index.ts";
import { numberAt, type Known } from "./known-values.ts";
import type { Problem } from "./problem.ts";

/**
 * Whether the transport has the machines that a config counts on: on one of its own, all would be done on this machine, and nobody told.
 * Plugins must be loaded before.
 */
export function checkMachines(known: Known, locate: (path: string) => ErrorLocation): Problem[] {
  const transport = known("controller.transport");
  if (typeof transport !== "string" || !registries.transport.has(transport)) return [];
  const { entry, key } = registries.transport.find(transport);
  if (!entry.oneMachine) return [];
  const others = registries.transport.entries().flatMap(([name, { oneMachine }]) => (oneMachine ? [] : [name]));
  const instead = others.length === 0 ? "" : `controller.transport to ${others.join(" or ")} for several machines, or `;
  return wantedMachines(known).map(({ path, machines, one }) => ({
    code: "VERL_CONFIG_VALUE",
    message: `\`${path}\` asks for ${machines} machines, but the transport "${key}" runs every rank on this one.`,
    hint: `Set ${instead}${one}.`,
    location: locate(path),
  }));
}

interface Wanted {
  readonly path: string;
  readonly machines: number;
  /** How to ask for one machine, in words. */
  readonly one: string;
}

/** The keys that ask for more than one machine and are heeded. */
function wantedMachines(known: Known): Wanted[] {
  const own = known("actor_rollout_ref.hybrid_engine") === false ? ["actor_rollout_ref.rollout.nnodes"] : [];
  const counts = ["trainer.nnodes", ...own].map((path) => ({
    path,
    machines: numberAt(known, path),
    one: `${path} to 1`,
  }));
  const pools = Object.entries(known("controller.resource_pool_spec") ?? {});
  const named = Object.values(known("controller.role_mapping") ?? {});
  const lists = pools.map(([pool, ranks]: [string, unknown]) => ({
    path: "controller.resource_pool_spec",
    machines: Array.isArray(ranks) && named.includes(pool) ? ranks.length : 0,
    one: `the pool "${pool}" to one number of ranks`,
  }));
  return [...counts, ...lists].filter(({ machines }) => machines > 1);
}
