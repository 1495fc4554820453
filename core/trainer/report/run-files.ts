import { createReadStream } from "node:fs";
import { access } from "node:fs/promises";
import { createInterface } from "node:readline";
import type { RolloutRow } from "../rollout-log/rollout-rows.ts";

export interface StepRecord {
  step: number;
  /** null where the value was not finite. */
  data: Record<string, number | null>;
}

/**
 * The history that `metrics.jsonl` tells, by step. Lines of one step are joined. A step smaller than the one before means that the
 * run was resumed from there: what came after it in the abandoned part is dropped.
 */
export async function readMetrics(path: string): Promise<{ records: StepRecord[]; brokenLines: number }> {
  const records: StepRecord[] = [];
  const brokenLines = await readJsonLines(path, (value) => {
    const { step, data } = value as Partial<StepRecord>;
    if (typeof step !== "number" || typeof data !== "object" || data === null) return false;
    while (records.length > 0 && records.at(-1)!.step > step) records.pop();
    const last = records.at(-1);
    if (last?.step === step) Object.assign(last.data, data);
    else records.push({ step, data: { ...data } });
    return true;
  });
  return { records, brokenLines };
}

export interface StepRollouts {
  step: number;
  rows: RolloutRow[];
}

/** Steps of each split that are kept in memory and shown; more than that are thinned evenly, the first and the last stay. */
const MAX_STEPS = 24;

/** The rows that `rollouts.jsonl` tells, by split and step, resumed runs as in `readMetrics`. */
export async function readRollouts(path: string): Promise<Record<RolloutRow["split"], StepRollouts[]>> {
  const splits: Record<RolloutRow["split"], StepRollouts[]> = { train: [], val: [] };
  let previous = -Infinity;
  await readJsonLines(path, (value) => {
    const row = value as RolloutRow;
    if (!Object.hasOwn(splits, row.split) || typeof row.step !== "number") return false;
    if (row.step < previous) dropFrom(splits, row);
    previous = row.step;
    const steps = splits[row.split];
    if (steps.at(-1)?.step === row.step) steps.at(-1)!.rows.push(row);
    else steps.push({ step: row.step, rows: [row] });
    // Twice as many steps as are shown are collected before every second one is dropped, the first and the newest never.
    if (steps.length > 2 * MAX_STEPS) splits[row.split] = steps.filter((_, i) => i % 2 === 0 || i === steps.length - 1);
    return true;
  });
  return { train: thin(splits.train), val: thin(splits.val) };
}

/** Forgets what an abandoned run sampled after the step that the new run begins with, and that step's rows of the same split. */
function dropFrom(splits: Record<RolloutRow["split"], StepRollouts[]>, { split, step }: RolloutRow): void {
  for (const name of ["train", "val"] as const) {
    splits[name] = splits[name].filter((entry) => entry.step < step || (entry.step === step && name !== split));
  }
}

function thin(steps: readonly StepRollouts[]): StepRollouts[] {
  if (steps.length <= MAX_STEPS) return [...steps];
  const stride = (steps.length - 1) / (MAX_STEPS - 1);
  return Array.from({ length: MAX_STEPS }, (_, i) => steps[Math.round(i * stride)]!);
}

/** Hands each line's value to `take`. @returns the number of lines that are no JSON or that `take` refused. */
async function readJsonLines(path: string, take: (value: object) => boolean): Promise<number> {
  if (!(await exists(path))) return 0;
  let broken = 0;
  for await (const line of createInterface({ input: createReadStream(path, "utf8"), crlfDelay: Infinity })) {
    if (line === "") continue;
    const value = parse(line);
    if (typeof value !== "object" || value === null || !take(value)) broken += 1;
  }
  return broken;
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
