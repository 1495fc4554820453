import { registries } from "../../core/registry/index.ts";
import { dispatchModes } from "../../plugins/controller/index.ts";

/** Registers the built-in dispatch modes; registering the same entry again does nothing. */
export function loadPlugin(): void {
  for (const { key, entry } of dispatchModes) registries.dispatch.register(key, entry);
}
