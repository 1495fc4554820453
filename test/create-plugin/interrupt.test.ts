import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it } from "@jest/globals";
import { root } from "../docs/blocks.ts";

const work = mkdtempSync(join(tmpdir(), "verl-interrupt-"));
afterAll(() => rmSync(work, { recursive: true }));

/** A process can be done with writing before the signal reaches it; so often it is tried to be quicker. */
const TRIES = 20;

/**
 * Lets a real process make a project, and sends it the signal as soon as its draft lies beside the target.
 * @returns its exit code, null where the signal ended it at its default, and what it said
 */
async function interrupted(parent: string, argv: readonly string[], signal: NodeJS.Signals) {
  const program = ["--import", "tsx", join(root, "templates/src/index.ts"), ...argv];
  // tsx is found from here, and the project is made there.
  const child = spawn(process.execPath, program, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
  const watcher = watch(parent, (_, name) => {
    if (!child.killed && name?.startsWith(".create-verl-plugin-")) child.kill(signal);
  });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "exit") as Promise<[number | null]>]);
  watcher.close();
  return { code, stderr };
}

const FLAGS = ["--template", "algorithm", "--yes", "--no-install", "--no-git"];
const filesOf = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();

describe.each(["SIGINT", "SIGTERM"] as const)("%s while a project is written", (signal) => {
  it("leaves nothing of it, or all", async () => {
    const parent = join(work, signal);
    mkdirSync(parent);
    let cancelled = false;
    for (let tried = 0; tried < TRIES && !cancelled; tried++) {
      const target = join(parent, `project-${tried}`);
      const { code, stderr } = await interrupted(parent, [target, ...FLAGS], signal);
      cancelled = code === 130 && stderr === "Cancelled; nothing was written.\n";
      if (cancelled) expect(existsSync(target)).toBe(false);
      else expect(filesOf(target)).toContain("preset.yaml");
      rmSync(target, { recursive: true, force: true });
      expect(readdirSync(parent)).toEqual([]);
    }
    expect(cancelled).toBe(true);
  });

  it("leaves a folder that was there as it was, or gives it the whole project", async () => {
    const parent = join(work, `${signal}-overwrite`);
    let cancelled = false;
    for (let tried = 0; tried < TRIES && !cancelled; tried++) {
      const target = join(parent, "project");
      mkdirSync(target, { recursive: true });
      writeFileSync(join(target, "README.md"), "mine");
      const { code, stderr } = await interrupted(parent, [target, "--overwrite", ...FLAGS], signal);
      cancelled = code === 130 && stderr === "Cancelled; nothing was written.\n";
      if (cancelled) expect(filesOf(target)).toEqual(["README.md"]);
      else expect(filesOf(target)).toContain("preset.yaml");
      expect(readFileSync(join(target, "README.md"), "utf8") === "mine").toBe(cancelled);
      expect(readdirSync(parent)).toEqual(["project"]);
      rmSync(parent, { recursive: true });
    }
    expect(cancelled).toBe(true);
  });
});
