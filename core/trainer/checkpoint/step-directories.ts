import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { findDamage, readManifest, type ManifestRead } from "./manifest.ts";

const STEP_DIRECTORY = /^global_step_(\d{1,15})$/;

/** A checkpoint that was completed once; its manifest may be damaged since. */
export type StepDirectory = { step: number; path: string } & ManifestRead;

/** The step that a checkpoint's directory is named for. */
export function stepOf(path: string): number | undefined {
  const step = STEP_DIRECTORY.exec(basename(path))?.[1];
  return step === undefined ? undefined : Number(step);
}

/** All checkpoints in a run's directory, the smallest step first. Those never completed, which have no manifest, are left out. */
export async function stepDirectories(directory: string): Promise<StepDirectory[]> {
  const found: StepDirectory[] = [];
  for (const name of await readDirectory(directory)) {
    const step = stepOf(name);
    if (step === undefined) continue;
    const path = join(directory, name);
    const read = await readManifest(path);
    if (read) found.push({ step, path, ...read });
  }
  return found.sort((a, b) => a.step - b.step);
}

/** The nearest earlier checkpoint beside `path` whose files all pass their hashes. */
export async function previousWhole(path: string, step = Infinity): Promise<string | undefined> {
  const earlier = (await stepDirectories(dirname(resolve(path)))).filter((sibling) => sibling.step < step);
  for (const sibling of earlier.reverse()) {
    if (sibling.manifest && !(await findDamage(sibling.path, sibling.manifest))) return sibling.path;
  }
  return undefined;
}

/** Names in a directory; none where there is no such directory. */
export async function readDirectory(path: string): Promise<string[]> {
  return readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
}
