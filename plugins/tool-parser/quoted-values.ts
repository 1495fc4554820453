import type { Markers, Scan, TextSource } from "verl";

/** The tags that values start and end with, and all at which looking ahead for them stops. */
export interface PairSyntax {
  /** Opens a value. */
  open: string;
  /** Closes it. */
  close: string;
  /** Starts the next value: `open`, or the tag of its key. */
  next: string;
  /** All of these, and what opens and closes calls. */
  pairs: Markers;
}

/**
 * Which tags of the values of one call open what is quoted there: what closes again, before the value closes that it stands in. All tags
 * up to the next call's are told at once, since a value may quote any number of others; they need not be looked through again.
 */
export class QuotedValues {
  private from = 0;
  private to = -1;
  /** Where tags stand, between these places, that quote nothing. */
  private readonly plain = new Set<number>();

  constructor(
    private readonly source: TextSource,
    private readonly syntax: PairSyntax,
  ) {}

  /** Whether the tag at `at` opens a quoted value. The source stands where it stood. */
  *has(at: number): Scan<boolean> {
    if (at < this.from || at >= this.to) yield* this.look(at);
    return !this.plain.has(at);
  }

  private *look(at: number): Scan {
    const { source } = this;
    const { open, close, next, pairs } = this.syntax;
    const after = source.at;
    source.at = at;
    /** Tags by the value that they stand in: first the one that is read, then those that it quotes and that are not closed. */
    const values: number[][] = [[]];
    while (values.length > 0) {
      const hit = yield* source.until(pairs);
      if (hit !== open && hit !== close && hit !== next) break;
      if (hit === close) values.pop();
      else values[values.length - 1]!.push(source.at);
      if (hit === open) values.push([]);
      source.at += hit.length;
    }
    this.from = at;
    this.to = source.at;
    for (const tag of values.flat()) this.plain.add(tag);
    source.at = after;
  }
}
