import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** verl's name of the pointer to the newest checkpoint: a text file with the step. */
export const POINTER_FILE = "latest_checkpointed_iteration.txt";

/** The step that the pointer of a run's directory names; undefined where it is missing or unreadable. */
export function readPointer(directory: string): number | undefined {
  try {
    const text = readFileSync(join(directory, POINTER_FILE), "utf8").trim();
    return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
  } catch {
    return undefined;
  }
}

/** The checkpoint that the pointer names, if it exists. Synchronous, for a process that is about to end. */
export function pointedCheckpoint(directory: string): string | undefined {
  const step = readPointer(directory);
  const path = join(directory, `global_step_${step}`);
  return step !== undefined && existsSync(path) ? path : undefined;
}
