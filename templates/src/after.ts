import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { PackageManager } from "./package-manager.ts";

/** Runs a program where the project lies; its output is the user's. Windows finds package managers only through its shell. */
function run(directory: string, program: string, args: readonly string[], quiet = false): boolean {
  const { status } = spawnSync(program, args, {
    cwd: directory,
    stdio: quiet ? "ignore" : ["inherit", 2, 2],
    shell: process.platform === "win32",
  });
  return status === 0;
}

/** Installs dependencies. @returns whether that worked. */
export const install = (directory: string, pm: PackageManager): boolean => run(directory, pm, ["install"]);

/** Makes a repository with one commit, unless there is one already. @returns whether there is one now. */
export function makeRepository(directory: string): boolean {
  if (existsSync(join(directory, ".git"))) return true;
  const git = (...args: string[]): boolean => run(directory, "git", args, true);
  if (!git("init", "--initial-branch=main")) return false;
  git("add", "--all");
  // Without a name or with signing set up the commit fails; the repository is of use all the same.
  git("commit", "--message", "Start from create-verl-plugin");
  return true;
}
