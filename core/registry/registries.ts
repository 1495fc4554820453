import type { EntryMeta, EntryOf } from "./entry.ts";
import { KIND_NAMES, type Kind } from "./kinds.ts";
import { Registry } from "./registry.ts";
import { store } from "./store.ts";

/** The entry type of a kind: its contract where a room has declared one. */
export type Entry<K extends Kind> = K extends keyof EntryOf ? EntryOf[K] & EntryMeta : EntryMeta;

/** The registry of each kind, with the kind's own entry type. */
export type Registries = { readonly [K in Kind]: Registry<Entry<K>> };

/** One registry a kind: `registries.policy_loss.resolve("vanilla")`. */
export const registries = Object.fromEntries(KIND_NAMES.map((kind) => [kind, new Registry(kind)])) as Registries;

/**
 * Closes all registries while a run is under way; entries that appear in the middle would be missing in its worker processes.
 * @param run Name of the run, for the message that a late registration gets.
 * @returns Opens them again; they stay closed while another run is under way.
 */
export function freezeRegistries(run: string): () => void {
  const ticket = Symbol(run);
  store().runs.set(ticket, run);
  return () => void store().runs.delete(ticket);
}
