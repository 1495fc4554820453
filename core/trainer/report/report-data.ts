import { headlineNames } from "../metrics/headlines.ts";
import type { RolloutRow } from "../rollout-log/rollout-rows.ts";
import type { RunRecord } from "./run-facts.ts";
import type { StepRecord, StepRollouts } from "./run-files.ts";

/** One metric over the run. A value is null where it was not finite. */
export interface Series {
  steps: number[];
  values: (number | null)[];
}

/** Everything that the page shows; it is embedded as JSON. */
export interface ReportData {
  title: string;
  lastStep: number;
  metrics: Record<string, Series>;
  /** The numbers to look at first: label and metric. */
  headlines: { label: string; metric: string }[];
  /** Seconds of the whole run by phase, the longest first. */
  phases: { name: string; seconds: number }[];
  rollouts: Record<RolloutRow["split"], StepRollouts[]>;
  facts: RunRecord | null;
  /** Lines of `metrics.jsonl` that could not be read. */
  brokenLines: number;
}

/** Points of a curve; longer ones are averaged in equal groups. */
const MAX_POINTS = 1500;
/** Phases that the trainer times outside `step`. */
const OUTSIDE_STEP = new Set(["testing", "save_checkpoint"]);

export function buildReportData(input: {
  title: string;
  records: readonly StepRecord[];
  rollouts: ReportData["rollouts"];
  facts: RunRecord | undefined;
  brokenLines: number;
}): ReportData {
  const { records } = input;
  const series = collectSeries(records);
  return {
    title: input.facts?.name ?? input.title,
    lastStep: records.at(-1)?.step ?? 0,
    metrics: Object.fromEntries(
      [...series].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, values]) => [name, condense(values)]),
    ),
    headlines: [...headlineNames([...series.keys()])].map(([label, metric]) => ({ label, metric })),
    phases: phaseTotals(records),
    rollouts: input.rollouts,
    facts: input.facts ?? null,
    brokenLines: input.brokenLines,
  };
}

function collectSeries(records: readonly StepRecord[]): Map<string, Series> {
  const all = new Map<string, Series>();
  for (const { step, data } of records) {
    for (const [name, value] of Object.entries(data)) {
      const series = all.get(name) ?? { steps: [], values: [] };
      all.set(name, series);
      series.steps.push(step);
      series.values.push(value);
    }
  }
  return all;
}

/** Averages groups of neighbouring points until few enough are left. A group with a value that is not finite is not finite. */
export function condense({ steps, values }: Series, limit = MAX_POINTS): Series {
  if (steps.length <= limit) return { steps, values };
  const size = Math.ceil(steps.length / limit);
  const result: Series = { steps: [], values: [] };
  for (let start = 0; start < steps.length; start += size) {
    const group = values.slice(start, start + size);
    const finite = group.every((value) => value !== null);
    result.steps.push(steps[Math.min(start + size, steps.length) - 1]!);
    result.values.push(finite ? group.reduce<number>((sum, value) => sum + value, 0) / group.length : null);
  }
  return result;
}

/** Seconds by phase. What `step` took beyond its phases is `other`; timers with a `/` lie inside a phase. */
export function phaseTotals(records: readonly StepRecord[]): { name: string; seconds: number }[] {
  const totals = new Map<string, number>();
  for (const { data } of records) {
    for (const [name, value] of Object.entries(data)) {
      const phase = /^timing_s\/([^/]+)$/.exec(name)?.[1];
      if (phase !== undefined && value !== null) totals.set(phase, (totals.get(phase) ?? 0) + value);
    }
  }
  const step = totals.get("step");
  totals.delete("step");
  if (step !== undefined) {
    const inside = [...totals].reduce((sum, [name, seconds]) => sum + (OUTSIDE_STEP.has(name) ? 0 : seconds), 0);
    if (step > inside) totals.set("other", step - inside);
  }
  return [...totals].map(([name, seconds]) => ({ name, seconds })).sort((a, b) => b.seconds - a.seconds);
}
