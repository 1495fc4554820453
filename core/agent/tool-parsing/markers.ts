/**
 * Decides whether a mark counts by what stands after it, from `at` on, so that a letter like `{` need not be read as a mark each time
 * it occurs. Undefined: the text so far does not say.
 */
export type MarkGuard = (mark: string, text: string, at: number) => boolean | undefined;

/** Codes of letters that are told apart; the last stands for all beyond ASCII. */
const CODES = 129;
const fold = (code: number): number => (code < CODES ? code : CODES - 1);

/** Marks that start alike, told apart by the letter in one place: formats have up to forty of them. */
class MarkGroup {
  private readonly offset: number;
  /** By that letter: the marks that have it, and those that are too short to have one; longest first. */
  private readonly buckets = new Map<number, readonly string[]>();
  private readonly short: readonly string[];

  /** @param words longest first */
  constructor(private readonly words: readonly string[]) {
    const offsets = Array.from(words[0]!, (_, offset) => offset);
    const costs = offsets.map((offset) => {
      const letters = words.map((word) => word[offset]);
      const alike = (letter: string | undefined) => letters.filter((one) => one === letter || one === undefined).length;
      return Math.max(...letters.map(alike));
    });
    this.offset = costs.indexOf(Math.min(...costs));
    this.short = words.filter((word) => word.length <= this.offset);
    for (const word of words) {
      const code = word.charCodeAt(this.offset);
      if (Number.isNaN(code)) continue;
      this.buckets.set(
        code,
        words.filter((one) => one.length <= this.offset || one.charCodeAt(this.offset) === code),
      );
    }
  }

  /** The marks that may stand at a place: all of them where the text is too short to say. */
  near(text: string, place: number): readonly string[] {
    const at = place + this.offset;
    return at < text.length ? (this.buckets.get(text.charCodeAt(at)) ?? this.short) : this.words;
  }
}

/** Marks to look for, in one pass over the text whatever their number. */
export class Markers {
  /** The marks that start with a letter. */
  private readonly groups: (MarkGroup | undefined)[] = [];
  /** The letter that all marks start with, where it is one. */
  private readonly lead: string | undefined;
  /** What the first letter of a mark says: nothing starts with it (0), a longer mark does (1), that letter alone is one (2). */
  private readonly first = new Uint8Array(CODES);
  /** 1 at each second letter. */
  private readonly second = new Uint8Array(CODES);

  constructor(
    words: readonly string[],
    private readonly guard?: MarkGuard,
  ) {
    const byLetter = new Map<number, string[]>();
    for (const word of [...new Set(words)].sort((a, b) => b.length - a.length)) {
      const code = fold(word.charCodeAt(0));
      byLetter.set(code, [...(byLetter.get(code) ?? []), word]);
      this.first[code] = Math.max(this.first[code]!, word.length === 1 ? 2 : 1);
      if (word.length > 1) this.second[fold(word.charCodeAt(1))] = 1;
    }
    for (const [code, group] of byLetter) this.groups[code] = new MarkGroup(group);
    const letters = new Set(words.map((word) => word[0]!));
    this.lead = letters.size === 1 ? words[0]![0] : undefined;
  }

  /** The first place from `from` on where it is worth asking `at`; the text's length where there is none. */
  seek(text: string, from: number): number {
    const { lead } = this;
    let i = from;
    if (lead === undefined) {
      while (i < text.length && !this.mayStart(text, i)) i += 1;
      return i;
    }
    while ((i = text.indexOf(lead, i)) >= 0 && !this.mayStart(text, i)) i += 1;
    return i < 0 ? text.length : i;
  }

  private mayStart(text: string, place: number): boolean {
    const kind = this.first[fold(text.charCodeAt(place))];
    if (kind !== 1) return kind === 2;
    return place + 1 === text.length || this.second[fold(text.charCodeAt(place + 1))] === 1;
  }

  /** How many marks are compared with the text at a place. */
  candidates(text: string, place: number): number {
    return this.groups[fold(text.charCodeAt(place))]?.near(text, place).length ?? 0;
  }

  /** The mark at a place: undefined when there is none, null when the text so far does not say. */
  at(text: string, place: number, ended: boolean): string | undefined | null {
    const rest = text.length - place;
    const words = this.groups[fold(text.charCodeAt(place))]?.near(text, place) ?? [];
    for (let i = 0; i < words.length; i++) {
      const word = words[i]!;
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
