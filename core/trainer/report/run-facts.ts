import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { VERSION } from "../../registry/version.ts";
import { replaceDurably } from "../checkpoint/durable-files.ts";
import type { Restart } from "../restarts.ts";

const FACTS_FILE = "run.json";

/** What a run was, beside its numbers. */
export interface RunFacts {
  /** `<project>/<experiment>`. */
  name: string;
  /** The command line. */
  command: string;
  seed: number | null;
  /** The resolved config, leaf by leaf, each with where its value comes from (`default`, `train.yaml:12`, the override's text). */
  config: { path: string; value: unknown; origin: string }[];
  /** Times that the run went on by itself after a worker had died. */
  restarts?: readonly Restart[];
}

export interface RunRecord extends RunFacts {
  /** ISO 8601. */
  started_at: string;
  versions: Record<string, string>;
}

/** Writes `<run dir>/run.json` at the start of a run; a resumed run replaces it. */
export async function writeRunFacts(runDir: string, facts: RunFacts): Promise<void> {
  const record: RunRecord = {
    ...facts,
    started_at: new Date().toISOString(),
    versions: { verl: VERSION, node: process.versions.node, platform: `${process.platform} ${process.arch}` },
  };
  await mkdir(runDir, { recursive: true });
  await replaceDurably(join(runDir, FACTS_FILE), `${JSON.stringify(record, null, 2)}\n`);
}

/** The run's record, or undefined where there is none that can be read. */
export async function readRunFacts(runDir: string): Promise<RunRecord | undefined> {
  try {
    const value = JSON.parse(await readFile(join(runDir, FACTS_FILE), "utf8")) as RunRecord;
    return Array.isArray(value.config) && typeof value.name === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}
