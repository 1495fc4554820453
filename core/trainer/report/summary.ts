import type { RolloutRow } from "../rollout-log/rollout-rows.ts";
import type { ReportData, Series } from "./report-data.ts";

/** Curves that the closing words draw: label → headline. */
const CURVES: Readonly<Record<string, string>> = { val: "Validation", reward: "Reward", loss: "Loss" };
/** Answers shown before and after. */
const SAMPLES = 2;
const BLOCKS = "▁▂▃▄▅▆▇█";
const WIDTH = 40;
/** Characters of a prompt or an answer that a line shows. */
const EXCERPT = 60;

/**
 * What a run did, in a few lines for the terminal: how validation and reward went, and two prompts with the answer before and after.
 *
 *     Validation  0.094 ▁▁▂▃▅▆▇█ 0.988
 *     vydml → step 0: dlvmy (0), step 150: dlmvy (1)
 */
export function summarise(data: ReportData): string[] {
  const curves = data.headlines.flatMap(({ label, metric }) => {
    const title = CURVES[label];
    const series = data.metrics[metric];
    return title && series && series.steps.length > 1 ? [`${title.padEnd(10)}  ${curve(series)}`] : [];
  });
  return [...curves, ...samples(data)];
}

function curve({ values }: Series): string {
  const finite = values.filter((value): value is number => value !== null);
  if (finite.length === 0) return "never finite";
  const low = Math.min(...finite);
  const span = Math.max(...finite) - low || 1;
  const cells = Array.from(
    { length: Math.min(WIDTH, finite.length) },
    (_, i, count = Math.min(WIDTH, finite.length)) => {
      const value = finite[Math.round((i * (finite.length - 1)) / Math.max(1, count - 1))]!;
      return BLOCKS[Math.round(((value - low) / span) * (BLOCKS.length - 1))];
    },
  );
  return `${short(finite[0]!)} ${cells.join("")} ${short(finite.at(-1)!)}`;
}

/** Validation asks the same prompts each time; those whose answer became better come first. */
function samples({ rollouts }: ReportData): string[] {
  const [first, last] = [rollouts.val.at(0), rollouts.val.at(-1)];
  if (first === undefined || last === undefined || first.step === last.step) return [];
  const after = new Map(last.rows.map((row) => [row.uid, row]));
  const pairs = first.rows.flatMap((row) => (after.has(row.uid) ? [{ before: row, after: after.get(row.uid)! }] : []));
  const gain = (pair: (typeof pairs)[number]) => (pair.after.score ?? 0) - (pair.before.score ?? 0);
  return pairs
    .sort((a, b) => gain(b) - gain(a))
    .slice(0, SAMPLES)
    .map(
      ({ before, after: now }) =>
        `${excerpt(before.input)} → step ${first.step}: ${answer(before)}, step ${last.step}: ${answer(now)}`,
    );
}

const answer = (row: RolloutRow): string =>
  `${excerpt(row.output)} (${row.score === null ? "unscored" : short(row.score)})`;

/** One line of text from a model, with nothing in it that a terminal would obey. */
function excerpt(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}]+/gu, " ").trim();
  return line.length > EXCERPT ? `${line.slice(0, EXCERPT - 1)}…` : line || "(empty)";
}

const short = (value: number): string => String(Number(value.toPrecision(3)));
