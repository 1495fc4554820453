/** `error`: a run would fail or learn something wrong. `warning`: look at it. `note`: good to know. */
export type Level = "error" | "warning" | "note";

/** One thing that a check found. */
export interface Finding {
  /** Name of the check, for scripts. */
  check: string;
  level: Level;
  /** Rows that it concerns. */
  count: number;
  /** The first of them, 0-based. */
  rows: number[];
  message: string;
  hint?: string;
}

/** Notes a row under a reason: the same one in many rows is one finding. */
export function noteRow(reasons: Map<string, number[]>, reason: string, row: number): void {
  const rows = reasons.get(reason);
  if (rows) rows.push(row);
  else reasons.set(reason, [row]);
}

/** Rows that are named in a finding. */
const NAMED = 5;

/** A finding about some rows; none when there are none. */
export function findingOf(
  check: string,
  level: Level,
  rows: readonly number[],
  message: string,
  hint?: string,
): Finding[] {
  if (rows.length === 0) return [];
  return [
    { check, level, count: rows.length, rows: rows.slice(0, NAMED), message, ...(hint !== undefined && { hint }) },
  ];
}
