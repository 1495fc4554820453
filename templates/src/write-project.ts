import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { Files } from "./assets.ts";
import { Cancelled, UsageError } from "./usage-error.ts";

/** Names that an otherwise empty folder may have. */
const HARMLESS = [".git", ".DS_Store", "Thumbs.db"];

/** @throws UsageError where files would be lost. */
export function checkTarget(directory: string, files: Files, overwrite: boolean): void {
  if (!existsSync(directory)) return;
  if (!statSync(directory).isDirectory()) throw new UsageError(`${directory} is a file. Name another folder.`);
  const found = readdirSync(directory).filter((name) => !HARMLESS.includes(name));
  if (found.length === 0 || overwrite) {
    const blocked = [...files.keys()].find((path) => isDirectory(join(directory, path)));
    if (blocked === undefined) return;
    throw new UsageError(`${join(directory, blocked)} is a folder, and a file of that name would be written.`);
  }
  const few = found.slice(0, 3).join(", ") + (found.length > 3 ? `, and ${found.length - 3} more` : "");
  throw new UsageError(
    `${directory} is not empty (${few}). Name another folder, or add --overwrite: files of the same name are then replaced.`,
  );
}

const isDirectory = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/**
 * Writes all files or none: into a temporary folder beside the target, which is then moved.
 * @throws Cancelled where a signal asks to end; before the move nothing is left then, and after it the whole project.
 */
export async function writeProject(directory: string, files: Files): Promise<void> {
  let cancelled = false;
  const cancel = (): void => void (cancelled = true);
  for (const signal of SIGNALS) process.on(signal, cancel);
  try {
    await writeAndMove(directory, files, () => {
      if (cancelled) throw new Cancelled("nothing was written");
    });
    await setImmediate(); // A signal that came during the move is told only now.
    if (cancelled) throw new Cancelled(`the whole project is in ${directory}, and nothing was installed`);
  } finally {
    for (const signal of SIGNALS) process.off(signal, cancel);
  }
}

/** @param goesOn Throws where no more is to be written. */
async function writeAndMove(directory: string, files: Files, goesOn: () => void): Promise<void> {
  const parent = dirname(resolve(directory));
  const made = firstMissing(parent);
  mkdirSync(parent, { recursive: true });
  const draft = mkdtempSync(join(parent, ".create-verl-plugin-"));
  try {
    for (const [path, text] of files) {
      await mkdir(dirname(join(draft, path)), { recursive: true });
      await writeFile(join(draft, path), text);
      goesOn();
    }
    move(draft, directory, files);
  } catch (error) {
    if (made !== undefined) rmSync(made, { recursive: true, force: true });
    throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

function move(draft: string, directory: string, files: Files): void {
  if (!existsSync(directory)) {
    chmodSync(draft, 0o777 & ~process.umask()); // Temporary folders are their owner's alone.
    return renameSync(draft, directory);
  }
  for (const path of files.keys()) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    renameSync(join(draft, path), join(directory, path));
  }
}

/** The outermost folder on the way to `path` that does not exist. */
function firstMissing(path: string): string | undefined {
  if (existsSync(path)) return undefined;
  return firstMissing(dirname(path)) ?? path;
}
