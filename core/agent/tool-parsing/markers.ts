/**
 * Decides whether a mark counts by what stands after it, from `at` on, so that a letter like `{` need not be read as a mark each time
 * it occurs. Undefined: the text so far does not say.
 */
export type MarkGuard = (mark: string, text: string, at: number) => boolean | undefined;

/** Codes of letters that are told apart; the last stands for all beyond ASCII. */
const CODES = 129;
const fold = (code: number): number => (code < CODES ? code : CODES - 1);

/** Marks to look for, in one pass over the text whatever their number. */
export class Markers {
  /** The marks that start with a letter, longest first. */
  private readonly words: (readonly string[])[] = Array.from({ length: CODES }, () => []);
  /** What the first letter of a mark says: nothing starts with it (0), a longer mark does (1), that letter alone is one (2). */
  private readonly first = new Uint8Array(CODES);
  /** 1 at each second letter. */
  private readonly second = new Uint8Array(CODES);

  constructor(
    words: readonly string[],
    private readonly guard?: MarkGuard,
  ) {
    for (const word of [...new Set(words)].sort((a, b) => b.length - a.length)) {
      const code = fold(word.charCodeAt(0));
      this.words[code] = [...this.words[code]!, word];
      this.first[code] = Math.max(this.first[code]!, word.length === 1 ? 2 : 1);
      if (word.length > 1) this.second[fold(word.charCodeAt(1))] = 1;
    }
  }

  /** Whether it is worth asking `at`: false for most letters, and soon. */
  mayStart(text: string, place: number): boolean {
    const kind = this.first[fold(text.charCodeAt(place))];
    if (kind !== 1) return kind === 2;
    return place + 1 === text.length || this.second[fold(text.charCodeAt(place + 1))] === 1;
  }

  /** How many marks are compared with the text at a place. */
  candidates(text: string, place: number): number {
    return this.words[fold(text.charCodeAt(place))]!.length;
  }

  /** The mark at a place: undefined when there is none, null when the text so far does not say. */
  at(text: string, place: number, ended: boolean): string | undefined | null {
    const rest = text.length - place;
    const words = this.words[fold(text.charCodeAt(place))]!;
    for (let i = 0; i < words.length; i++) {
      const word = words[i]!;
      if (rest < word.length) {
        if (!ended && word.startsWith(text.slice(place))) return null;
      } else if (seesMiddle(text, place, word) && text.startsWith(word, place)) {
        const counts = this.guard === undefined || this.guard(word, text, place + word.length);
        if (counts === undefined && !ended) return null;
        if (counts) return word;
      }
    }
    return undefined;
  }
}

/** Marks of a format begin and end alike: a letter in the midst tells most of them apart, and soon. */
function seesMiddle(text: string, place: number, word: string): boolean {
  const middle = word.length >> 1;
  return text.charCodeAt(place + middle) === word.charCodeAt(middle);
}
