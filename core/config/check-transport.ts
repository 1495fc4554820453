import type { ErrorLocation } from "../errors/index.ts";
import { registries } from "../registry/index.ts";
import type { Known } from "./known-values.ts";
import type { Problem } from "./problem.ts";

/** What the chosen transport finds wrong with a config. Plugins must be loaded before. */
export function checkTransport(known: Known, locate: (path: string) => ErrorLocation): Problem[] {
  const transport = known("controller.transport");
  if (typeof transport !== "string" || !registries.transport.has(transport)) return [];
  const { entry } = registries.transport.find(transport);
  const faults = entry.checkConfig?.(known) ?? [];
  return faults.map(({ path, ...fault }) => ({ ...fault, location: locate(path) }));
}
