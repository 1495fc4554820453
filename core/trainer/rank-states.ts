import type { WorkerGroup } from "../controller/index.ts";
import type { Logger } from "../registry/index.ts";
import type { CheckpointParts } from "./checkpoint/index.ts";
import type { PluginStates } from "./workers/run-worker.ts";

/** Groups of which each has threads or processes of its own, by name; their workers are `RunWorker`s. */
export type Sites = Readonly<Record<string, Pick<WorkerGroup, "call" | "worldSize">>>;

/** What plugins remember on the ranks, for a checkpoint; nothing where no rank has anything, as in the trainer's own thread. */
export async function saveRankStates(sites: Sites): Promise<Pick<CheckpointParts, "ranks">> {
  const ranks: Record<string, readonly PluginStates[]> = {};
  for (const [name, group] of Object.entries(sites)) {
    const states = (await group.call("savePluginStates")) as PluginStates[];
    if (states.some((state) => Object.keys(state).length > 0)) ranks[name] = states;
  }
  return Object.keys(ranks).length > 0 ? { ranks } : {};
}

/** What plugins of the trainer's own thread remembered, and those of first ranks that now may stand there as well. */
export function trainerStates({ plugins, ranks = {} }: Pick<CheckpointParts, "plugins" | "ranks">): PluginStates {
  return Object.assign({}, ...Object.values(ranks).map(([first]) => first), plugins) as PluginStates;
}

/**
 * Gives the ranks what `saveRankStates` took. Ranks that the checkpoint knows nothing of begin with the first rank's states, and those
 * of a group that it knows nothing of with the trainer's: a run may go on with more ranks, or on ranks after it was in one thread.
 */
export async function loadRankStates(
  sites: Sites,
  { plugins, ranks = {} }: Pick<CheckpointParts, "plugins" | "ranks">,
  log: Pick<Logger, "warn">,
): Promise<void> {
  for (const [name, group] of Object.entries(sites)) {
    const saved = ranks[name] ?? [plugins];
    const { worldSize } = group;
    const states = Array.from({ length: worldSize }, (_, rank) => saved[rank] ?? saved[0]!);
    if (name in ranks && saved.length !== worldSize) {
      const who = worldSize > saved.length ? "the others begin with those of the first" : "the rest is dropped";
      log.warn(`The checkpoint has the plugins' states of ${saved.length} ranks of ${name}, not ${worldSize}: ${who}.`);
    }
    await group.call("loadPluginStates", states);
  }
}
