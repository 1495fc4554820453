import {
  isSpace,
  MarkedToolParser,
  Markers,
  readStrayClose,
  standsApart,
  TRUNCATED,
  type Scan,
  type TextSource,
  type Turn,
} from "verl";

/** Tokens around calls that stand in a section of their own; the first of each is the usual spelling. */
export interface SectionMarks {
  sectionOpen: readonly string[];
  sectionClose: readonly string[];
  callOpen: readonly string[];
  callClose: readonly string[];
}

/** What a mark in a call, or its arguments, start with. */
const STARTS = ["<", "```", "{"];
const isInWord = (code: number): boolean => !isSpace(code) && code !== 60 && code !== 96 && code !== 123;

/**
 * Formats with a section of calls, each call between tokens of its own: DeepSeek, Kimi. A section that closes late
 * loses nothing. A mark that stands in a line of prose, and behind which no call goes on, is content.
 */
export abstract class SectionedToolParser extends MarkedToolParser {
  protected readonly opens: readonly string[];
  private known: Markers | undefined;

  constructor(protected readonly marks: SectionMarks) {
    super();
    this.opens = Object.values(marks).flat() as string[];
  }

  /** What a broken call reaches to at most. */
  protected get boundaries(): Markers {
    return (this.known ??= new Markers([...this.opens, ...this.ends]));
  }

  /** Reads a call; the source stands right after the token that opens it, `from` right before. */
  protected abstract readCall(turn: Turn, from: number): Scan;

  protected *read(open: string, turn: Turn, from: number): Scan<boolean> {
    const { sectionOpen, sectionClose, callOpen } = this.marks;
    const opensCall = callOpen.includes(open);
    if (!opensCall && !sectionOpen.includes(open))
      return sectionClose.includes(open) || (yield* readStrayClose(turn, from));
    const apart = yield* standsApart(turn);
    if (apart && !(yield* opensCall ? this.seesCall(turn.source) : this.seesMark(turn.source))) return false;
    yield* opensCall ? this.readCall(turn, from) : this.readSection(turn, from);
    return true;
  }

  /**
   * Whether a call goes on behind its mark where that stands in a line as words do: by a mark that opens no other, or arguments, behind one
   * word at most. Nothing is read.
   */
  protected *seesCall(source: TextSource): Scan<boolean> {
    const { sectionOpen, callOpen } = this.marks;
    const { at } = source;
    yield* source.skipSpace();
    yield* source.skipWhile(isInWord);
    yield* source.skipSpace();
    const seen =
      !(yield* source.seesAny([...sectionOpen, ...callOpen])) && (yield* source.seesAny(STARTS)) !== undefined;
    source.at = at;
    return seen;
  }

  /** Likewise, a section behind its own: by any mark. */
  private *seesMark(source: TextSource): Scan<boolean> {
    const { at } = source;
    yield* source.skipSpace();
    const seen = (yield* source.seesAny(this.opens)) !== undefined;
    source.at = at;
    return seen;
  }

  private *readSection(turn: Turn, from: number): Scan {
    const { source, out } = turn;
    for (let empty = true; ; empty = false) {
      const end = source.at;
      yield* source.skipSpace();
      const start = source.at;
      if (out.room > 0 && (yield* source.take(...this.marks.callOpen))) {
        yield* this.readCall(turn, start);
        continue;
      }
      if (empty && (yield* this.findCall(source))) {
        out.content(source.text.slice(start, source.at));
        continue;
      }
      const closed = yield* source.take(...this.marks.sectionClose);
      if (empty) {
        const reason = (yield* source.atEnd()) && !closed ? TRUNCATED : "a section of calls without a call";
        out.error(source.text.slice(from, source.at), reason);
      } else if (!closed) {
        source.at = end;
      }
      return;
    }
  }

  /** Goes to the call that follows some text in a section; false, and nothing is read, when there is none. */
  private *findCall(source: TextSource): Scan<boolean> {
    const start = source.at;
    const hit = yield* source.until(this.boundaries);
    if (hit !== undefined && this.marks.callOpen.includes(hit)) return true;
    source.at = start;
    return false;
  }

  /** Reads up to a mark that is none of the section nor an end of the turn. @returns The text before it; `undefined`, and an error noted, when the call is over before. */
  protected *readHeader({ source, out }: Turn, from: number, marks: Markers): Scan<string | undefined> {
    const start = source.at;
    const hit = yield* source.until(marks);
    const text = source.text.slice(start, source.at);
    if (hit !== undefined && !this.opens.includes(hit) && !this.ends.includes(hit)) {
      source.at += hit.length;
      return text;
    }
    yield* source.take(...this.marks.callClose);
    out.error(source.text.slice(from, source.at), hit === undefined ? TRUNCATED : "the call has no arguments");
    return undefined;
  }
}
