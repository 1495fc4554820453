/** A reader that stops where it needs more text, and goes on when there is some. */
export type Scan<T = void> = Generator<undefined, T, undefined>;

/** Pieces wait until they are this part of the text that is held, so that joining them takes linear time. */
const WAKE_PART = 32;
/** Characters that have been read are let go beyond this. */
const KEPT = 256;

/** Marks to look for, in one pass over the text whatever their number. */
export class Markers {
  readonly words: readonly string[];
  /** 1 at the code of each first letter; the last place stands for all letters beyond ASCII. */
  private readonly first = new Uint8Array(129);

  constructor(words: readonly string[]) {
    this.words = [...new Set(words)].sort((a, b) => b.length - a.length);
    for (const word of this.words) this.first[Math.min(word.charCodeAt(0), 128)] = 1;
  }

  mayStart(code: number): boolean {
    return this.first[code < 128 ? code : 128] === 1;
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
  private waiting = "";
  private ended = false;

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

  *atEnd(): Scan<boolean> {
    return this.at >= this.text.length && !(yield* this.more());
  }

  /** The next letter; empty at the end. */
  *peek(): Scan<string> {
    return (yield* this.atEnd()) ? "" : (this.text[this.at] as string);
  }

  /** Whether `word` comes next. */
  *sees(word: string): Scan<boolean> {
    for (;;) {
      const length = Math.min(word.length, this.text.length - this.at);
      this.steps += 1;
      if (!this.text.startsWith(word.slice(0, length), this.at)) return false;
      if (length === word.length) return true;
      if (!(yield* this.more())) return false;
    }
  }

  /** The first of `words` that comes next. */
  *seesAny(words: readonly string[]): Scan<string | undefined> {
    for (const word of words) if (yield* this.sees(word)) return word;
    return undefined;
  }

  /** Reads the first of `words` that comes next. */
  *take(...words: readonly string[]): Scan<string | undefined> {
    const word = yield* this.seesAny(words);
    this.at += word?.length ?? 0;
    return word;
  }

  /** Reads letters as long as `belongs` says so. */
  *takeWhile(belongs: (code: number) => boolean): Scan<string> {
    const from = this.at;
    do {
      while (this.at < this.text.length && belongs(this.text.charCodeAt(this.at))) this.at += 1;
    } while (this.at === this.text.length && (yield* this.more()));
    this.steps += this.at - from + 1;
    return this.text.slice(from, this.at);
  }

  *skipSpace(): Scan<void> {
    yield* this.takeWhile(isSpace);
  }

  /**
   * Goes to the first of `markers`, or to the end.
   * @param sink Takes the text before it, as it comes.
   * @returns The marker, which is not read yet.
   */
  *until(markers: Markers, sink?: (text: string) => void): Scan<string | undefined> {
    let from = this.at;
    for (;;) {
      const { text } = this;
      let i = this.at;
      let hit: string | undefined;
      let open = false;
      for (; i < text.length; i++) {
        if (!markers.mayStart(text.charCodeAt(i))) continue;
        const rest = text.length - i;
        this.steps += markers.words.length;
        for (const word of markers.words) {
          if (rest >= word.length ? text.startsWith(word, i) : !this.ended && word.startsWith(text.slice(i))) {
            hit = word;
            open = rest < word.length;
            break;
          }
        }
        if (hit !== undefined) break;
      }
      this.steps += i - this.at;
      this.at = i;
      if (sink && i > from) {
        sink(text.slice(from, i));
        this.release();
        from = this.at;
      }
      if (hit !== undefined && !open) return hit;
      if (!(yield* this.more()) && i === text.length) return undefined;
    }
  }

  private release(): void {
    if (this.at <= KEPT || this.at * 2 <= this.text.length) return;
    this.text = this.text.slice(this.at);
    this.at = 0;
  }

  private join(): void {
    this.text += this.waiting;
    this.waiting = "";
  }
}

/** True for the code of a blank, a tab or a line break. */
export const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13);
