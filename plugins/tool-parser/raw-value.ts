import type { Markers, Scan, TextSource } from "verl";

/** How a value ends that stands in the text as it is, so that it may hold any tag. */
export interface RawValueSyntax {
  close: string;
  /** What closing tags start with that models write in place of `close`. */
  stem: string;
  /** A closing tag counts when one of these, or the end, comes next: what the format allows there. */
  followers: readonly string[];
  /** Opens the next value; where it does so truly, a closing tag was left out. */
  next: string;
  /** Closing tags of what the value stands in: the value ends there if no closing tag of its own comes before the next call. */
  outer: readonly string[];
  /** Tokens that end the turn: a value without an end reaches no further. */
  ends: readonly string[];
  /** All of these, and whatever starts a call. */
  marks: Markers;
  /** Opens a value itself. */
  open: string;
  /** What opens and closes values and calls. */
  pairs: Markers;
  /** What else `close` may close, in text that is no call. */
  alike?: RegExp;
}

export interface RawValue {
  text: string;
  /** The closing tag was left out. */
  open: boolean;
  /** A closing tag in a text without its own that closes nothing there: it shows that the text is not all value. */
  stray?: string;
}

/** Starts of calls in a value without an end; more are not looked through. */
const MAX_PASSED = 6;
/** Tags that are looked at to find out whether a value quotes another. */
const MAX_PAIRS = 8;
/** A closing tag as a whole; the last letter may be missing. */
const CLOSING_TAG = /^<\/[^<>\n]{1,256}>?$/;
const CLOSING_TAGS = /^(?:<\/[^<>]*>\s*)+$/;
const isLetter = (letter: string): boolean => /[\p{L}/|｜]/u.test(letter);
const isBlank = (letter: string | undefined): boolean => letter === " " || letter === "\t";

/**
 * Reads a value to its end and past the closing tag. A value that quotes whole calls, or values with both their tags, keeps them. One whose
 * closing tag only strange tags follow, up to what ends the call, ends there: they are the format gone wrong.
 * @param isEnd Whether a tag at `at` may end the value: one that no follower speaks for. Called with the source right after the tag.
 * @returns Undefined when it has no end; the source then stands where the next call may start.
 */
export function* readRawValue(
  source: TextSource,
  syntax: RawValueSyntax,
  isEnd: (tag: string, at: number) => Scan<boolean>,
): Scan<RawValue | undefined> {
  const { alike, close, ends, followers, next, open, outer, marks } = syntax;
  const start = source.at;
  const closedAt = (at: number): RawValue => {
    source.at = at + close.length;
    return { text: source.text.slice(start, at), open: false };
  };
  /** What has been looked through behind the closing tag is read again; an answer in which that is much is no slip. */
  const backAtOwn = (): RawValue | undefined => {
    source.repairLeft -= source.at - ownAt;
    return source.repairLeft > 0 ? closedAt(ownAt) : undefined;
  };
  const openAt = (at: number): RawValue => {
    source.at = at;
    return withoutTag(source.text.slice(start, at), syntax.stem);
  };
  let outerAt = -1;
  let quotedAt = -1;
  let quotedValues = 0;
  /** The first closing tag that nothing speaks for: where a value ends that has no other. */
  let ownAt = -1;
  /** What else is open, and up to where that has been counted. */
  let alikes = 0;
  let countedTo = start;
  for (let passed = 0; ;) {
    const hit = yield* source.until(marks);
    const { at } = source;
    const over = hit === undefined || passed > MAX_PASSED;
    if (outerAt >= 0 && (over || (hit !== close && !outer.includes(hit)))) {
      return ownAt >= 0 ? backAtOwn() : openAt(outerAt);
    }
    if (over) {
      const value = quotedAt >= 0 && ownAt >= 0 ? backAtOwn() : undefined;
      if (value === undefined && quotedAt >= 0) source.at = quotedAt;
      return value;
    }
    const after = (source.at += hit.length);
    if (hit === close) {
      yield* source.skipSpace();
      const isClosed = (yield* source.seesAny(followers)) ?? (yield* source.atEnd());
      const doubled = !isClosed && (yield* source.sees(close));
      const isWrong = !isClosed && (yield* seesTag(source, at));
      source.at = after;
      if (quotedValues > 0) quotedValues -= 1;
      else if (isClosed || (doubled && (yield* isEnd(hit, at)))) return closedAt(at);
      else {
        if (alike) alikes += source.text.slice(countedTo, at).match(alike)?.length ?? 0;
        countedTo = after;
        if (alikes > 0) alikes -= 1;
        else if (quotedAt < 0 && outerAt < 0) {
          if (ownAt < 0) ownAt = at;
          if (isWrong) return backAtOwn();
        }
      }
    } else if (hit === next || hit === open) {
      const quoted = quotedAt >= 0 || (yield* quotesValue(source, at, syntax));
      if (quoted && hit === open) quotedValues += 1;
      else if (!quoted && hit === next && (yield* isEnd(hit, at))) return ownAt >= 0 ? backAtOwn() : openAt(at);
    } else if (outer.includes(hit)) {
      if (outerAt < 0 && quotedAt < 0 && (yield* isEnd(hit, at))) outerAt = at;
    } else {
      if (!ends.includes(hit)) passed += 1;
      if (quotedAt < 0) quotedAt = at;
    }
    source.at = after;
  }
}

/** Whether a tag follows, behind the closing tag at `at`, with no blank before either: tags that shall be the format's stand so. */
function* seesTag(source: TextSource, at: number): Scan<boolean> {
  if (isBlank(source.text[at - 1]) || isBlank(source.text[source.at - 1])) return false;
  return (yield* source.take("<")) !== undefined && isLetter(yield* source.peek());
}

/** A value without its closing tag, but perhaps with another in its place. */
function withoutTag(text: string, stem: string): RawValue {
  const isOpened = (tag: string, at: number): boolean =>
    text.lastIndexOf(`<${/^<\/([^\s<>=]*)/.exec(tag)![1]}`, at) >= 0;
  const wrongAt = text.indexOf(stem);
  const body = text.trimEnd();
  const lastAt = body.lastIndexOf("<");
  const last = body.slice(lastAt);
  const endsInTag = CLOSING_TAG.test(last);
  if (wrongAt >= 0 && !isOpened(stem, wrongAt)) {
    return wrongAt === lastAt && endsInTag
      ? { text: text.slice(0, lastAt), open: true }
      : { text, open: true, stray: `${stem}…` };
  }
  return endsInTag && last.endsWith(">") && !isOpened(last, lastAt)
    ? { text, open: true, stray: last }
    : { text, open: true };
}

/** Whether text behind a value is mere closing tags: they close nothing. */
export const isClosingTags = (text: string): boolean => CLOSING_TAGS.test(text);

/** What stands where it should not, for a message. */
export const shown = (text: string): string => /^[^\n]{0,64}/u.exec(text)![0].trimEnd();

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
