import { registries } from "../../core/registry/index.ts";
import { dispatchModes, executeModes } from "../../plugins/controller/index.ts";

/** Registers the built-in dispatch and execute modes; registering the same entry again does nothing. */
export function loadPlugin(): void {
  for (const { key, entry } of dispatchModes) registries.dispatch.register(key, entry);
  for (const { key, entry } of executeModes) registries.execute.register(key, entry);
}
