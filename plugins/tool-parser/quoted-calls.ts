import type { TextSource } from "verl";

/** The tags of what values stand in. */
export interface CallSyntax {
  /** Closing tags of what the value stands in, that of the call first. */
  outer: readonly string[];
  /** What each of them closes. */
  starts: readonly string[];
  /** Tokens that end the turn. */
  ends: readonly string[];
}

/** A code block opens or closes. */
const FENCE = /^[ \t]*(?:```|~~~)/gm;

/**
 * Calls in a value, from the first mark of one on: whether they are quoted there, or follow a value that was not closed. They are quoted
 * where more is closed behind the first than they open, since that closes what the value stands in; and where it stands in a code block.
 */
export class QuotedCalls {
  /** Those that have not been closed, by what opened them; undefined where none has been opened. */
  private readonly opened: (number | undefined)[] = [];
  /** The closing tag of a value that was the last tag. */
  private close: { at: number; to: number } | undefined;
  /** The first closing tag of a value behind which more is closed than is open: the value's own, if it has no other. */
  closedAt: number | undefined;
  /** Behind the last tag that closes more than is open. */
  quotedTo: number | undefined;
  private turnEnd = Infinity;

  /** @param at Where the first mark stands. */
  constructor(
    private readonly source: TextSource,
    private readonly syntax: CallSyntax,
    readonly at: number,
  ) {}

  /** A mark of a call, or of the end of the turn: no call may start behind that, but a text may show a whole chat. */
  seeMark(tag: string, at: number): void {
    const { starts, ends } = this.syntax;
    const kind = starts.indexOf(tag);
    if (kind >= 0) this.opened[kind] = (this.opened[kind] ?? 0) + 1;
    if (ends.includes(tag)) this.turnEnd = Math.min(this.turnEnd, at);
  }

  /** A value's closing tag at `at` has been read. @param isSurplus No quoted value is open. */
  seeClose(at: number, isSurplus: boolean): void {
    this.close = { at, to: this.source.at };
    if (isSurplus) this.quotedTo = this.source.at;
  }

  /** An outer closing tag at `at` has been read. */
  seeOuterClose(tag: string, at: number): void {
    const { source, close } = this;
    const kind = this.syntax.outer.indexOf(tag);
    const open = this.opened[kind];
    const followsClose = close !== undefined && isBlank(source.text.slice(close.to, at));
    this.close = undefined;
    if (open !== undefined && open > 0) {
      this.opened[kind] = open - 1;
      return;
    }
    // `ls⏎<function=g>⏎</function>⏎</tool_call>`: both calls stand in one `<tool_call>`.
    if (kind > 0 && open === undefined) return;
    this.quotedTo = source.at;
    if (followsClose) this.closedAt ??= close.at;
  }

  /** Where calls may start in a value from `start` on that has no end: behind what is quoted. Undefined: all is. */
  restart(start: number): number | undefined {
    const fences = this.source.text.slice(start, this.at).match(FENCE)?.length ?? 0;
    return fences % 2 === 1 ? undefined : Math.min(this.quotedTo ?? this.at, this.turnEnd);
  }
}

/** Whether a text is white space. */
export const isBlank = (text: string): boolean => text.trim() === "";
