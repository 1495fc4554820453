/** A reader that stops where it needs more text, and goes on when there is some. */
export type Scan<T = void> = Generator<undefined, T, undefined>;

/** Pieces wait until they are this part of the text that is held, so that joining them takes linear time. */
const WAKE_PART = 32;
/** Characters that have been read are let go beyond this. */
const KEPT = 256;

/** White space that a guard looks past at most. */
const MAX_SPACE = 64;

/**
 * Decides whether a mark counts by what stands after it, from `at` on, so that a letter like `{` need not be read as a mark each time
 * it occurs. Undefined: the text so far does not say.
 */
export type MarkGuard = (mark: string, text: string, at: number) => boolean | undefined;

/** Marks to look for, in one pass over the text whatever their number. */
export class Markers {
  readonly words: readonly string[];
  /** 1 at the code of each first letter; the last place stands for all letters beyond ASCII. */
  private readonly first = new Uint8Array(129);

  constructor(
    words: readonly string[],
    private readonly guard?: MarkGuard,
  ) {
    this.words = [...new Set(words)].sort((a, b) => b.length - a.length);
    for (const word of this.words) this.first[Math.min(word.charCodeAt(0), 128)] = 1;
  }

  mayStart(code: number): boolean {
    return this.first[code < 128 ? code : 128] === 1;
  }

  /** The mark at a place: undefined when there is none, null when the text so far does not say. */
  at(text: string, place: number, ended: boolean): string | undefined | null {
    const rest = text.length - place;
    for (const word of this.words) {
      if (rest < word.length) {
        if (!ended && word.startsWith(text.slice(place))) return null;
      } else if (text.startsWith(word, place)) {
        const counts = this.guard === undefined || this.guard(word, text, place + word.length);
        if (counts === undefined && !ended) return null;
        if (counts) return word;
      }
    }
    return undefined;
  }
}

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
  /** Broken values that could not be repaired. */
  failedRepairs = 0;
  /** A reader has looked so far ahead in vain; it need not start again before. */
  triedTo = 0;
  private waiting = "";
  private ended = false;
  private readonly decided = new Decided();

  /** @returns Whether there is enough new text for reading on. */
  push(piece: string): boolean {
    this.waiting += piece;
    if (this.waiting === "" || this.waiting.length * WAKE_PART < this.text.length - this.at) return false;
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

  /** Reads letters as long as `belongs` says so. */
  takeWhile(belongs: (code: number) => boolean): Scan<string> {
    const from = this.at;
    return this.pass(belongs) ? this.now(this.text.slice(from, this.at)) : this.takeWhileLater(belongs, from);
  }

  skipSpace(): Scan<void> {
    return this.pass(isSpace) ? this.now(undefined) : this.skipSpaceLater();
  }

  /**
   * Goes to the first of `markers`, or to the end.
   * @param sink Takes the text before it, as it comes.
   * @returns The marker, which is not read yet.
   */
  until(markers: Markers, sink?: (text: string) => void): Scan<string | undefined> {
    const hit = this.find(markers, sink);
    return typeof hit === "string" ? this.now(hit) : this.untilLater(markers, sink, hit);
  }

  /** Goes to the first marker, to a place that may become one (null), or to the end of the text so far (undefined). */
  private find(markers: Markers, sink: ((text: string) => void) | undefined): string | null | undefined {
    const { text, at: from } = this;
    let hit: string | null | undefined;
    let i = from;
    for (; i < text.length; i++) {
      if (!markers.mayStart(text.charCodeAt(i))) continue;
      this.steps += markers.words.length;
      hit = markers.at(text, i, this.ended);
      if (hit !== undefined) break;
    }
    this.steps += i - from;
    this.at = i;
    if (sink && i > from) {
      sink(text.slice(from, i));
      this.release();
    }
    return hit;
  }

  private *untilLater(
    markers: Markers,
    sink: ((text: string) => void) | undefined,
    first: null | undefined,
  ): Scan<string | undefined> {
    for (let hit: string | null | undefined = first; ; hit = this.find(markers, sink)) {
      if (typeof hit === "string") return hit;
      if (!(yield* this.more()) && hit === undefined) return undefined;
    }
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
    while ((yield* this.more()) && !this.pass(belongs));
    return this.text.slice(from, this.at);
  }

  private *skipSpaceLater(): Scan<void> {
    while ((yield* this.more()) && !this.pass(isSpace));
  }

  /** Goes past letters that belong. @returns Whether one was met that does not. */
  private pass(belongs: (code: number) => boolean): boolean {
    const from = this.at;
    while (this.at < this.text.length && belongs(this.text.charCodeAt(this.at))) this.at += 1;
    this.steps += this.at - from + 1;
    return this.at < this.text.length;
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

  private release(): void {
    if (this.at <= KEPT || this.at * 2 <= this.text.length) return;
    this.text = this.text.slice(this.at);
    this.triedTo -= this.at;
    this.at = 0;
  }

  private join(): void {
    this.text += this.waiting;
    this.waiting = "";
  }
}

/** True for the code of a blank, a tab or a line break. */
export const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13);

/** The first letter from `at` on that is no white space; empty when there is much of it, undefined when the text ends before. */
export function letterFrom(text: string, at: number): string | undefined {
  for (let i = at; i < at + MAX_SPACE; i++) if (!isSpace(text.charCodeAt(i))) return text[i];
  return "";
}
