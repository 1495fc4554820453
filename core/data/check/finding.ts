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

/** What is told of a reason beside its text. */
interface ReasonFacts {
  /** What makes two reasons one. Default: the text without what it quotes. */
  kind?: string;
  hint?: string;
}

/** Kinds of reasons that are told one by one. */
const KINDS = 10;
const QUOTED = /"(?:[^"\\]|\\.){0,1000}"/g;

/**
 * Rows by the reason why something failed in them; reasons of one kind are told as in their first row, and those beyond the first kinds
 * together. A report says what is wrong, not a line for each of many rows.
 */
export class Reasons {
  private readonly found = new Map<string, { reason: string; hint: string | undefined; rows: number[] }>();

  note(reason: string, row: number, { kind = reason.replace(QUOTED, "…"), hint }: ReasonFacts = {}): void {
    const key = this.found.has(kind) || this.found.size < KINDS ? kind : OTHERS;
    const known = this.found.get(key);
    if (known === undefined) this.found.set(key, { reason, hint, rows: [row] });
    else known.rows.push(row);
  }

  findings(check: string, message: (reason: string) => string = (reason) => reason): Finding[] {
    return [...this.found].flatMap(([key, { reason, hint, rows }]) => {
      const others = key === OTHERS && rows.length > 1 ? "Other reasons, such as: " : "";
      return findingOf(check, "error", rows, others + message(reason), hint);
    });
  }
}

const OTHERS = "";

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
