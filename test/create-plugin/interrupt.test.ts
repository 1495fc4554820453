import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, it, jest } from "@jest/globals";
import { root } from "../docs/blocks.ts";

// Each try is a process that compiles the sources.
jest.setTimeout(300_000);

const work = mkdtempSync(join(tmpdir(), "verl-interrupt-"));
afterAll(() => rmSync(work, { recursive: true }));

/** A process can be done with writing before the signal reaches it; so often it is tried again, with a process that writes more slowly. */
const TRIES = 6;

/** A module that has each file take so much longer to write. */
const slowly = (milliseconds: number): string =>
  `data:text/javascript,${encodeURIComponent(`import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout } from "node:timers/promises";
const { writeFile } = promises;
promises.writeFile = (...args) => writeFile(...args).then(() => setTimeout(${milliseconds}));
syncBuiltinESMExports();`)}`;

/**
 * Lets a real process make a project, and sends it the signal as soon as its draft lies beside the target.
 * @param tried how often before
 * @returns its exit code, null where the signal ended it at its default, and what it said
 */
async function interrupted(parent: string, argv: readonly string[], signal: NodeJS.Signals, tried: number) {
  const slow = tried === 0 ? [] : ["--import", slowly(tried * 50)];
  const program = [...slow, "--import", "tsx", join(root, "templates/src/index.ts"), ...argv];
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
      const { code, stderr } = await interrupted(parent, [target, ...FLAGS], signal, tried);
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
      const { code, stderr } = await interrupted(parent, [target, "--overwrite", ...FLAGS], signal, tried);
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
