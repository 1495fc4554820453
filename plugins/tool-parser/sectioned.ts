import { MarkedToolParser, Markers, strayClose, TRUNCATED, type Scan, type TextSource, type Turn } from "verl";

/** Tokens around calls that stand in a section of their own; the first of each is the usual spelling. */
export interface SectionMarks {
  sectionOpen: readonly string[];
  sectionClose: readonly string[];
  callOpen: readonly string[];
  callClose: readonly string[];
}

/** Formats with a section of calls, each call between tokens of its own: DeepSeek, Kimi. A section that closes late loses nothing. */
export abstract class SectionedToolParser extends MarkedToolParser {
  protected readonly opens: readonly string[];
  protected override readonly hidesEnds = true;
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
    if (sectionOpen.includes(open)) yield* this.readSection(turn, from);
    else if (callOpen.includes(open)) yield* this.readCall(turn, from);
    else if (!sectionClose.includes(open)) strayClose(turn, from);
    return true;
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

  /** Reads up to `mark`, in the same turn. @returns The text before it; `undefined`, and an error noted, when the call is over before. */
  protected *readHeader({ source, out }: Turn, from: number, mark: Markers): Scan<string | undefined> {
    const start = source.at;
    const hit = yield* source.until(mark);
    const text = source.text.slice(start, source.at);
    const over = this.ends.map((end) => text.indexOf(end)).filter((at) => at >= 0);
    if (over.length > 0) source.at = start + Math.min(...over);
    else if (hit !== undefined && !this.opens.includes(hit)) {
      source.at += hit.length;
      return text;
    }
    yield* source.take(...this.marks.callClose);
    out.error(source.text.slice(from, source.at), hit === undefined ? TRUNCATED : "the call has no arguments");
    return undefined;
  }
}
