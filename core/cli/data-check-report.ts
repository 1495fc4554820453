import type { Finding, Level } from "../data/index.ts";
import { counted } from "../errors/index.ts";
import { table } from "./table.ts";

/** Values of many rows in short; all 0 where there are none. */
export interface Spread {
  mean: number;
  p50: number;
  p95: number;
  max: number;
}

/** What `verl data check` reports; `--json` prints it as it is. */
export interface DataCheck {
  file: string;
  rows: number;
  /** Column → type. */
  columns: Record<string, string>;
  /** Tokens a row, under the template and with the tools; absent where no tokenizer was given. */
  tokens?: Spread & { limit: number };
  /** Scores of the given answers. */
  scores?: Spread & { scored: number; unscored: number };
  findings: Finding[];
  /** What could not be checked, and what it needs. */
  not_checked: string[];
}

/** Middle and ends of a list of numbers; zeros for an empty one. */
export function spreadOf(values: ArrayLike<number>): Spread {
  const sorted = Float64Array.from(values).sort();
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  const mean = sorted.length === 0 ? 0 : sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return { mean, p50: at(0.5), p95: at(0.95), max: sorted.at(-1) ?? 0 };
}

const TITLES: readonly (readonly [Level, string])[] = [
  ["error", "Errors"],
  ["warning", "Warnings"],
  ["note", "Notes"],
];

/** The report for people. */
export function showCheck({ file, rows, columns, tokens, scores, findings, not_checked }: DataCheck): string {
  const facts = [...(tokens ? [showTokens(tokens)] : []), ...(scores ? [showScores(scores)] : [])];
  const sections = TITLES.flatMap(([level, title]) => {
    const own = findings.filter((finding) => finding.level === level);
    return own.length === 0 ? [] : ["", `${title}:`, ...own.flatMap(showFinding)];
  });
  return [
    `${file}: ${counted(rows, "row")}`,
    table(Object.entries(columns)),
    ...facts,
    ...sections,
    ...(not_checked.length > 0 ? ["", "Not checked:", ...not_checked.map((what) => `  ${what}`)] : []),
    ...(findings.some(({ level }) => level === "error") ? [] : ["", "No errors."]),
  ].join("\n");
}

/** No row has 0 tokens at most: then none could be read. */
const showTokens = ({ p50, p95, max, limit }: NonNullable<DataCheck["tokens"]>): string =>
  max === 0
    ? "Tokens: no row could be measured."
    : `Tokens: ${p50} at the median, ${p95} at the 95th percentile, ${max} at most; the limit is ${limit}.`;

function showScores({ scored, unscored, mean, p50 }: NonNullable<DataCheck["scores"]>): string {
  const short = (value: number): string => String(Number(value.toPrecision(3)));
  if (scored === 0) return `Scores: none; ${counted(unscored, "answer")} without.`;
  return `Scores of ${counted(scored, "answer")}: mean ${short(mean)}, median ${short(p50)}; ${unscored} without.`;
}

function showFinding({ check, count, rows, message, hint }: Finding): string[] {
  const more = count > rows.length ? ", …" : "";
  const where = rows.length === 0 ? "" : `${counted(count, "row")} (${rows.join(", ")}${more}): `;
  return [`  ${check}: ${where}${message}`, ...(hint === undefined ? [] : [`    ${hint}`])];
}
