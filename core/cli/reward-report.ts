import { unscoredClass, type SampleReward } from "../reward/index.ts";
import type { DumpRow } from "./reward-dump.ts";
import { table } from "./table.ts";

/** What came of scoring a dump. */
export interface Scoring {
  readonly manager: string;
  readonly rewards: readonly SampleReward[];
  readonly seconds: number;
  /** What the manager reported: times of each function, retries. */
  readonly metrics: Readonly<Record<string, number>>;
}

interface Spread {
  mean: number;
  min: number;
  max: number;
}

/** The result of `verl reward run`, as `--json` prints it. */
export interface ScoringSummary {
  data: string;
  manager: string;
  rows: number;
  scored: number;
  /** Answers without score, by class, and the first of each: its id and the reason. */
  unscored: Record<string, { count: number; first: string; reason: string }>;
  score: Spread | null;
  /** The scores that the dump had; `changed` counts the rows whose score is another now, or only now or no more there. */
  previous: { mean: number | null; changed: number };
  /** Mean of each numeric part of the reward. */
  parts: Record<string, number>;
  metrics: Readonly<Record<string, number>>;
  seconds: number;
  samples_per_s: number;
}

/** Scores are compared as a dump writes them. */
const SAME = 1e-5;

export function summariseScoring(rows: readonly DumpRow[], scoring: Scoring): Omit<ScoringSummary, "data"> {
  const { manager, rewards, seconds, metrics } = scoring;
  const scores = rewards.flatMap((reward) => ("unscored" in reward ? [] : [reward.score]));
  const before = rows.flatMap(({ previous }) => (previous === null ? [] : [previous]));
  const unscored: ScoringSummary["unscored"] = {};
  const parts = new Map<string, number[]>();
  rewards.forEach((reward, at) => {
    if ("unscored" in reward) {
      const seen = (unscored[unscoredClass(reward.unscored)] ??= {
        count: 0,
        first: rows[at]!.uid,
        reason: reward.unscored,
      });
      seen.count++;
    }
    for (const [part, value] of Object.entries(reward.extra)) {
      if (typeof value !== "number" && typeof value !== "boolean") continue;
      const values = parts.get(part);
      if (values === undefined) parts.set(part, [Number(value)]);
      else values.push(Number(value));
    }
  });
  const changed = rewards.filter((reward, at) => {
    const { previous } = rows[at]!;
    const score = "unscored" in reward ? null : reward.score;
    return score === null || previous === null ? score !== previous : Math.abs(score - previous) > SAME;
  });
  return {
    manager,
    rows: rows.length,
    scored: scores.length,
    unscored,
    score: spreadOf(scores),
    previous: { mean: spreadOf(before)?.mean ?? null, changed: changed.length },
    parts: Object.fromEntries([...parts].map(([part, values]) => [part, spreadOf(values)!.mean])),
    metrics,
    seconds,
    samples_per_s: rows.length / seconds,
  };
}

function spreadOf(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const [min, max, sum] = values.reduce(
    ([least, most, total], value) => [Math.min(least, value), Math.max(most, value), total + value],
    [Infinity, -Infinity, 0] as [number, number, number],
  );
  return { mean: sum / values.length, min, max };
}

const short = (value: number): string => String(Number(value.toPrecision(4)));

/** The same for people. */
export function showScoring(summary: ScoringSummary): string {
  const { score, previous, unscored, parts, metrics } = summary;
  const facts: [string, string][] = [
    [
      "answers",
      `${summary.rows}, scored ${summary.scored}, in ${short(summary.seconds)} s (${short(summary.samples_per_s)} a second)`,
    ],
    ["score", score === null ? "none" : `mean ${short(score.mean)}, from ${short(score.min)} to ${short(score.max)}`],
    [
      "before",
      previous.mean === null
        ? "no scores in the file"
        : `mean ${short(previous.mean)}; ${previous.changed} rows changed`,
    ],
    ...Object.entries(parts).map(([part, mean]): [string, string] => [part, `mean ${short(mean)}`]),
    ...Object.entries(unscored).map(([kind, { count, first, reason }]): [string, string] => [
      `unscored`,
      `${count} × ${kind}, first ${first}: ${reason}`,
    ]),
    ...Object.entries(metrics).map(([name, value]): [string, string] => [name, short(value)]),
  ];
  return [`${summary.data}, by the reward manager ${summary.manager}`, table(facts)].join("\n");
}
