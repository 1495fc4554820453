import { readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { VerlError } from "../errors/index.ts";
import type { Logger } from "../registry/index.ts";
import { isAlive } from "./checkpoint/process-alive.ts";

const LOCK_FILE = "run.lock";

interface Holder {
  pid: number;
  host: string;
}

/** Directories that runs of this process hold. */
const held = new Set<string>();

/**
 * Takes a run's directory for this process. The lock of a process that is gone is taken over; so is one of another machine, which
 * nobody can ask, with a warning.
 * @returns gives the directory back.
 * @throws VERL_TRAIN_DIRECTORY_BUSY
 */
export async function lockDirectory(directory: string, logger: Pick<Logger, "warn">): Promise<() => Promise<void>> {
  const key = resolve(directory);
  const path = join(directory, LOCK_FILE);
  const found = await readText(path);
  const holder = found === undefined ? undefined : parseHolder(found);
  if (held.has(key) || (holder && isRunning(holder))) throw busy(directory, path, holder?.pid ?? process.pid);
  if (holder && holder.host !== hostname()) {
    logger.warn(`${path} is of a run on ${holder.host}. This run takes the directory over; no two may write to it.`);
  }
  if (found !== undefined) await rm(path, { force: true });
  const own: Holder = { pid: process.pid, host: hostname() };
  await writeFile(path, `${JSON.stringify(own)}\n`, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
    throw error.code === "EEXIST" ? busy(directory, path) : error;
  });
  held.add(key);
  return async () => {
    if (held.delete(key)) await rm(path, { force: true });
  };
}

/** Own locks are in `held`; one with this process's id is left from an earlier process with the same. */
const isRunning = ({ pid, host }: Holder): boolean => host === hostname() && pid !== process.pid && isAlive(pid);

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

/** Undefined for half a lock, which a kill left. */
function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, host } = JSON.parse(text) as Partial<Holder>;
    return Number.isSafeInteger(pid) && pid! > 0 && typeof host === "string" ? { pid: pid!, host } : undefined;
  } catch {
    return undefined;
  }
}

function busy(directory: string, path: string, pid?: number): VerlError {
  const by = pid === undefined ? "another process" : `process ${pid}`;
  return new VerlError("VERL_TRAIN_DIRECTORY_BUSY", `A run of ${by} is under way in ${directory}.`, {
    hint: `Wait for it or stop it, or set trainer.default_local_dir to another directory. If no run is under way, delete ${path}.`,
    location: { file: directory, path: "trainer.default_local_dir" },
  });
}
