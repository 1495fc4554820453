import type { Markers, Scan, TextSource } from "verl";

/** How a value ends that stands in the text as it is, so that it may hold any tag. */
export interface RawValueSyntax {
  close: string;
  /** A closing tag counts when one of these, or the end, comes next: what the format allows there. */
  followers: readonly string[];
  /** Opens the next value; where it does so truly, a closing tag was left out. */
  next: string;
  /** Closing tags of what the value stands in: the value ends there if no closing tag of its own comes before the next call. */
  outer: readonly string[];
  /** All of these, and whatever starts a call. */
  marks: Markers;
  /** Opens a value itself. */
  open: string;
  /** What opens and closes values and calls. */
  pairs: Markers;
}

export interface RawValue {
  text: string;
  /** The closing tag was left out. */
  open: boolean;
}

/** Starts of calls in a value without an end; more are not looked through. */
const MAX_PASSED = 6;
/** Tags that are looked at to find out whether a value quotes another. */
const MAX_PAIRS = 8;

/**
 * Reads a value to its end and past the closing tag. A value that quotes whole calls, or values with both their tags, keeps them.
 * @param isEnd Whether a tag at `at` may end the value: one that no follower speaks for. Called with the source right after the tag.
 * @returns Undefined when it has no end; the source then stands where the next call may start.
 */
export function* readRawValue(
  source: TextSource,
  syntax: RawValueSyntax,
  isEnd: (tag: string, at: number) => Scan<boolean>,
): Scan<RawValue | undefined> {
  const { close, followers, next, open, outer, marks } = syntax;
  const start = source.at;
  let outerAt = -1;
  let quotedAt = -1;
  let quotedValues = 0;
  for (let passed = 0; ;) {
    const hit = yield* source.until(marks);
    const { at } = source;
    const over = hit === undefined || passed > MAX_PASSED;
    if (outerAt >= 0 && (over || (hit !== close && !outer.includes(hit)))) {
      source.at = outerAt;
      return { text: source.text.slice(start, outerAt), open: true };
    }
    if (over) {
      if (quotedAt >= 0) source.at = quotedAt;
      return undefined;
    }
    const after = (source.at += hit.length);
    if (hit === close) {
      yield* source.skipSpace();
      const ends = (yield* source.seesAny(followers)) ?? (yield* source.atEnd());
      const doubled = !ends && (yield* source.sees(close));
      source.at = after;
      if (quotedValues > 0) quotedValues -= 1;
      else if (ends || (doubled && (yield* isEnd(hit, at)))) return { text: source.text.slice(start, at), open: false };
    } else if (hit === next || hit === open) {
      const quoted = quotedAt >= 0 || (yield* quotesValue(source, at, syntax));
      if (quoted && hit === open) quotedValues += 1;
      else if (!quoted && hit === next && (yield* isEnd(hit, at))) {
        source.at = at;
        return { text: source.text.slice(start, at), open: true };
      }
    } else if (outer.includes(hit)) {
      if (outerAt < 0 && quotedAt < 0 && (yield* isEnd(hit, at))) outerAt = at;
    } else {
      passed += 1;
      if (quotedAt < 0) quotedAt = at;
    }
    source.at = after;
  }
}

/** Whether a value opens at a place that has a closing tag of its own, and the value that it stands in another; nothing is read. */
function* quotesValue(source: TextSource, at: number, { open, close, pairs }: RawValueSyntax): Scan<boolean> {
  const after = source.at;
  source.at = at;
  let values = 1;
  for (let looked = 0; values > 0 && looked < MAX_PAIRS; looked++) {
    const hit = yield* source.until(pairs);
    if (hit !== open && (hit !== close || looked === 0)) break;
    source.at += hit.length;
    values += hit === open ? 1 : -1;
  }
  source.at = after;
  return values === 0;
}
