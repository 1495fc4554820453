import type { Markers } from "./markers.ts";

/** A reader that stops where it needs more text, and goes on when there is some. */
export type Scan<T = void> = Generator<undefined, T, undefined>;

/**
 * Joining a piece copies all text that is held, what has been read of it as well. So pieces wait until they are this part of it: each
 * letter is copied so many times at most. While little is held, they are joined at once.
 */
const WAKE_PART = 32;
/** Characters that have been read are let go beyond this. */
const KEPT = 256;

/** White space that a guard looks past at most. */
const MAX_SPACE = 64;

type Sink = (text: string) => void;
type Skips = (marker: string) => number;

/** Where a search led, from every place between `from` and `to`. */
interface Found {
  from: number;
  to: number;
  hit: string | undefined;
}

/** Shorter searches cost less than a note of them. */
const MIN_NOTED = 16;

/**
 * A scan that is over at once. `yield*` reads the result before anything else can happen, so that one of these serves for all small
 * decisions of an answer, where generators would take most of the time.
 */
class Decided {
  readonly result: { done: true; value: unknown } = { done: true, value: undefined };

  next(): IteratorReturnResult<unknown> {
    return this.result;
  }

  [Symbol.iterator](): this {
    return this;
  }
}

/**
 * An answer that comes in pieces. Every method decides by the text alone: where a piece ends before the decision is clear, it waits.
 * That is why no cut of the text changes what is read.
 */
export class TextSource {
  /** What is held of the text. Positions count from its start, and stay valid until `until` is given a sink. */
  text = "";
  /** Position of the next letter to read. */
  at = 0;
  /** Letters looked at so far; tests hold it against the length. */
  steps = 0;
  /** Letters copied so far where pieces were joined; tests hold it against the length as well. */
  copied = 0;
  /** Letters that repairs of broken values may still take: an answer with more of them is no slip. */
  repairLeft = 1 << 20;
  /** Where a reader has looked ahead, from and to; it need not start again between. */
  triedFrom = 0;
  triedTo = 0;
  /** What searches found that went far; a broken value may have the same one start at each of its letters. */
  private readonly found = new Map<Markers, Found>();
  /** Where values start that are known to be broken. */
  private readonly broken = new Set<number>();
  private lastBroken = 0;
  /** What is no longer held. */
  private gone = "";
  private waiting = "";
  private ended = false;
  private readonly decided = new Decided();

  /** @returns Whether there is enough new text for reading on. */
  push(piece: string): boolean {
    this.waiting += piece;
    if (this.waiting === "" || this.waiting.length * WAKE_PART < this.text.length - KEPT) return false;
    this.join();
    return true;
  }

  /** No more text will come. */
  close(): void {
    this.join();
    this.ended = true;
  }

  /** Waits for more text. False: there is none. */
  *more(): Scan<boolean> {
    const { length } = this.text;
    while (this.text.length === length) {
      if (this.ended) return false;
      yield;
    }
    return true;
  }

  atEnd(): Scan<boolean> {
    return this.at < this.text.length ? this.now(false) : this.endWhenKnown();
  }

  /** The next letter; empty at the end. */
  peek(): Scan<string> {
    return this.at < this.text.length ? this.now(this.text[this.at] as string) : this.peekLater();
  }

  /** Whether `word` comes next. */
  sees(word: string): Scan<boolean> {
    const hit = this.matches(word);
    return hit === undefined ? this.seesLater(word) : this.now(hit);
  }

  /** The first of `words` that comes next. */
  seesAny(words: readonly string[]): Scan<string | undefined> {
    for (let i = 0; i < words.length; i++) {
      const hit = this.matches(words[i]!);
      if (hit === undefined) return this.seesAnyLater(words.slice(i));
      if (hit) return this.now(words[i]);
    }
    return this.now(undefined);
  }

  /** Reads the first of `words` that comes next. */
  take(...words: readonly string[]): Scan<string | undefined> {
    for (let i = 0; i < words.length; i++) {
      const word = words[i]!;
      const hit = this.matches(word);
      if (hit === undefined) return this.takeLater(words.slice(i));
      if (!hit) continue;
      this.at += word.length;
      return this.now(word);
    }
    return this.now(undefined);
  }

  /** Reads letters as long as `belongs` says so. @returns Them. */
  takeWhile(belongs: (code: number) => boolean): Scan<string> {
    const from = this.at;
    return this.pass(belongs) ? this.now(this.text.slice(from, this.at)) : this.takeWhileLater(belongs, from);
  }

  /** Likewise, where nobody asks for the letters. */
  skipWhile(belongs: (code: number) => boolean): Scan<void> {
    return this.pass(belongs) ? this.now(undefined) : this.skipWhileLater(belongs);
  }

  skipSpace(): Scan<void> {
    return this.skipWhile(isSpace);
  }

  /**
   * Goes to the first of `markers`, or to the end. Where it has been before, it need not look again.
   * @param sink Takes the text before it, as it comes.
   * @param back Letters before `at` that the sink takes as well.
   * @param skips How many letters from a marker on, at which the source stands then, are mere text, where that is known at once; 0: the
   * marker counts.
   * @returns The marker, which is not read yet.
   */
  until(
    markers: Markers,
    sink?: (text: string) => void,
    back = 0,
    skips?: (marker: string) => number,
  ): Scan<string | undefined> {
    const known = sink === undefined ? this.found.get(markers) : undefined;
    if (known !== undefined && known.from <= this.at && this.at <= known.to) {
      this.at = known.to;
      return this.now(known.hit);
    }
    const from = this.at;
    const hit = this.find(markers, sink, back, skips);
    if (typeof hit !== "string") return this.untilLater(markers, sink, hit, from, skips);
    if (sink === undefined) this.note(markers, from, hit);
    return this.now(hit);
  }

  /** Whether the value that comes next is known to be broken, since one that it stands in was looked through. */
  get isBroken(): boolean {
    return this.broken.has(this.at);
  }

  /** Values are broken that start at these places, in their order. */
  noteBroken(starts: readonly number[]): void {
    if (this.at > this.lastBroken) this.broken.clear();
    for (let i = 1; i < starts.length; i++) this.broken.add(starts[i]!);
    this.lastBroken = Math.max(this.lastBroken, starts[starts.length - 1] ?? 0);
  }

  private note(markers: Markers, from: number, hit: string | undefined): void {
    if (this.at - from > MIN_NOTED) this.found.set(markers, { from, to: this.at, hit });
  }

  /** Goes to the first marker, to a place that may become one (null), or to the end of the text so far (undefined). */
  private find(markers: Markers, sink?: Sink, back = 0, skips?: Skips): string | null | undefined {
    const { text, at: from } = this;
    let hit: string | null | undefined;
    let i = markers.seek(text, from);
    for (; i < text.length; i = markers.seek(text, i + 1)) {
      this.steps += markers.candidates(text, i);
      hit = markers.at(text, i, this.ended);
      if (hit === undefined) continue;
      this.at = i;
      // It looked to the end.
      if (hit === null) this.steps += text.length - i;
      const skipped = hit === null ? 0 : (skips?.(hit) ?? 0);
      if (skipped === 0) break;
      i += skipped - 1;
      hit = undefined;
    }
    this.steps += i - from;
    this.at = i;
    if (sink && i > from - back) {
      sink(text.slice(from - back, i));
      this.release();
    }
    return hit;
  }

  private *untilLater(
    markers: Markers,
    sink: Sink | undefined,
    first: null | undefined,
    from: number,
    skips: Skips | undefined,
  ): Scan<string | undefined> {
    let hit: string | null | undefined = first;
    while (typeof hit !== "string" && ((yield* this.more()) || hit === null)) {
      hit = this.find(markers, sink, 0, skips);
    }
    if (sink === undefined) this.note(markers, from, hit ?? undefined);
    return hit ?? undefined;
  }

  private *endWhenKnown(): Scan<boolean> {
    return !(yield* this.more());
  }

  private *peekLater(): Scan<string> {
    return (yield* this.more()) ? (this.text[this.at] as string) : "";
  }

  private *seesLater(word: string): Scan<boolean> {
    let hit: boolean | undefined;
    while ((hit = this.matches(word)) === undefined) yield* this.more();
    return hit;
  }

  private *seesAnyLater(words: readonly string[]): Scan<string | undefined> {
    for (const word of words) if (yield* this.seesLater(word)) return word;
    return undefined;
  }

  private *takeLater(words: readonly string[]): Scan<string | undefined> {
    const word = yield* this.seesAnyLater(words);
    this.at += word?.length ?? 0;
    return word;
  }

  private *takeWhileLater(belongs: (code: number) => boolean, from: number): Scan<string> {
    yield* this.skipWhileLater(belongs);
    return this.text.slice(from, this.at);
  }

  private *skipWhileLater(belongs: (code: number) => boolean): Scan<void> {
    while ((yield* this.more()) && !this.pass(belongs));
  }

  /** Goes past letters that belong. @returns Whether one was met that does not. */
  private pass(belongs: (code: number) => boolean): boolean {
    const from = this.at;
    while (this.at < this.text.length && belongs(this.text.charCodeAt(this.at))) this.at += 1;
    this.steps += this.at - from + 1;
    return this.at < this.text.length;
  }

  /** Goes on with the result of a scan: without a generator, where the scan is over. */
  then<T, U>(scan: Scan<T>, next: (value: T) => Scan<U>): Scan<U> {
    const isOver = (scan as unknown) === this.decided;
    return isOver ? next(this.decided.result.value as T) : thenLater(scan, next);
  }

  /** What a scan gave that is over already; undefined where it waits. */
  resultOf<T>(scan: Scan<T>): T | undefined {
    return (scan as unknown) === this.decided ? (this.decided.result.value as T) : undefined;
  }

  /** A scan that is over: what a reader returns that had no need to wait. */
  now<T>(value: T): Scan<T> {
    this.decided.result.value = value;
    // All that `yield*` asks of a generator that is over.
    return this.decided as unknown as Scan<T>;
  }

  /** Undefined: the text so far does not say. */
  private matches(word: string): boolean | undefined {
    this.steps += 1;
    const rest = this.text.length - this.at;
    if (rest >= word.length) return this.text.startsWith(word, this.at);
    return !this.ended && word.startsWith(this.text.slice(this.at)) ? undefined : false;
  }

  /** All text before a position. */
  before(at: number): string {
    return this.gone + this.text.slice(0, at);
  }

  private release(): void {
    if (this.at <= KEPT || this.at * 2 <= this.text.length) return;
    this.gone += this.text.slice(0, this.at);
    this.text = this.text.slice(this.at);
    this.found.clear();
    this.broken.clear();
    this.lastBroken = 0;
    this.triedFrom -= this.at;
    this.triedTo -= this.at;
    this.at = 0;
  }

  private join(): void {
    this.text += this.waiting;
    this.copied += this.text.length;
    this.waiting = "";
  }
}

function* thenLater<T, U>(scan: Scan<T>, next: (value: T) => Scan<U>): Scan<U> {
  return yield* next(yield* scan);
}

/** True for the code of a blank, a tab or a line break. */
export const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13);

/** Likewise, or a comma or a semicolon: what stands between calls. */
export const isSeparator = (code: number): boolean => isSpace(code) || code === 44 || code === 59;

/** The first letter from `at` on that is no white space; empty when there is much of it, undefined when the text ends before. */
export function letterFrom(text: string, at: number): string | undefined {
  for (let i = at; i < at + MAX_SPACE; i++) if (!isSpace(text.charCodeAt(i))) return text[i];
  return "";
}
