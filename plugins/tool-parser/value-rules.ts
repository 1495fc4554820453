import type { Markers, Scan, TextSource } from "verl";

/** The tags of a format whose values stand in the text as they are, so that they may hold any tag. */
export interface RawValueSyntax {
  /** Opens a value. */
  open: string;
  /** Closes it. */
  close: string;
  /** What closing tags start with that models write in place of `close`. */
  stem: string;
  /** What the format allows behind `close`. */
  followers: readonly string[];
  /** Starts the next value: `open`, or the tag of its key. */
  next: string;
  /** Closing tags of what the value stands in. */
  outer: readonly string[];
  /** Tokens that end the turn. */
  ends: readonly string[];
  /** All of these, and whatever starts a call. */
  marks: Markers;
  /** What opens and closes values and calls. */
  pairs: Markers;
  /** What else `close` may close, in text that is no call. */
  alike?: RegExp;
}

/**
 * Whether a tag at `at` may end the value where nothing behind it says so, by where it stands and what it names. Called with the source
 * right after the tag.
 */
export type MayEnd = (tag: string, at: number) => Scan<boolean>;

/**
 * Where a value ends, and at what: at its `own` closing tag; at one of its own that had been `passed` over as text; before `other` tags,
 * since its own was left out.
 */
export interface ValueEnd {
  at: number;
  tag: "own" | "passed" | "other";
}

/** Starts of calls in a value without an end; more are not looked through. */
const MAX_CALLS = 6;
/** Tags that are looked at to find out whether a value quotes another. */
const MAX_PAIRS = 8;
const isLetter = (letter: string): boolean => /[\p{L}/|｜]/u.test(letter);
const isBlank = (letter: string | undefined): boolean => letter === " " || letter === "\t";

/**
 * Which tag ends a value that may hold any tag. It holds what has been seen of the value; there is a method for each kind of tag, whose
 * rules apply in their order. The examples are Qwen3-Coder's, where `</parameter>` closes a value, `</function>` and `</tool_call>` what
 * it stands in, `<parameter=` opens one; `⏎` is a line break.
 *
 * A value is first mere text. From an outer closing tag on that may end it, only closing tags may follow that were text as well. From
 * the mark of a call on, it either quotes that call, and then closes well behind it, or has no end.
 */
export class ValueRules {
  /** The first closing tag of its own that was passed over though it closes nothing else: the end of a value that has no other. */
  private passedAt: number | undefined;
  /** The outer closing tag that may end it. */
  private outerAt: number | undefined;
  /** The first mark of a call, or of the end of the turn. */
  callAt: number | undefined;
  private calls = 0;
  /** Quoted values that have not been closed. */
  private quotedValues = 0;
  /** Likewise, what is written alike; and up to where that has been counted. */
  private alikes = 0;
  private countedTo: number;

  constructor(
    private readonly source: TextSource,
    private readonly syntax: RawValueSyntax,
    private readonly mayEnd: MayEnd,
  ) {
    this.countedTo = source.at;
  }

  /** Whether it is not worth reading on. */
  get isSpent(): boolean {
    return this.calls > MAX_CALLS;
  }

  /** Looks at a tag, at which the source stands. @returns The end that it shows; undefined where it is text. */
  see(tag: string): Scan<ValueEnd | undefined> {
    const { source, outerAt } = this;
    const { close, open, next, outer } = this.syntax;
    const { at } = source;
    const isOuter = outer.includes(tag);
    // `a⏎</function>⏎<tool_call>`: what might end the value did. `a⏎</function>⏎</tool_call>⏎</parameter>⏎</function>`: it was text.
    if (outerAt !== undefined && tag !== close && !isOuter) return source.now(this.endBefore(outerAt));
    source.at += tag.length;
    if (tag === close) return this.seeOwnClose(at);
    if (tag === open || tag === next) return this.seeOpening(tag, at);
    if (isOuter) return this.seeOuterClose(tag, at);
    this.seeMark(tag, at);
    return source.now(undefined);
  }

  /** The end that is known when nothing follows, or too many calls do. */
  atEnd(): ValueEnd | undefined {
    if (this.outerAt !== undefined) return this.endBefore(this.outerAt);
    // `ls⏎</parameter>⏎some text⏎<tool_call>…`: only its own tag is left. Without the call, the answer was cut off in a value.
    return this.callAt === undefined || this.passedAt === undefined ? undefined : { at: this.passedAt, tag: "passed" };
  }

  private seeOwnClose(at: number): Scan<ValueEnd | undefined> {
    if (this.quotedValues === 0) return this.judgeOwnClose(at);
    // `<parameter=x>⏎1⏎</parameter>` in a text: it closes the quoted value.
    this.quotedValues -= 1;
    return this.source.now(undefined);
  }

  private *judgeOwnClose(at: number): Scan<ValueEnd | undefined> {
    const { source } = this;
    const { close, followers } = this.syntax;
    const after = source.at;
    // `a⏎</parameter>⏎<parameter=b>`: what follows is what the format allows there, or nothing. `if (s === "</parameter>")` is text.
    yield* source.skipSpace();
    if ((yield* source.seesAny(followers)) !== undefined || (yield* source.atEnd())) return { at, tag: "own" };
    // `a⏎</parameter>⏎</parameter>`: it was written twice. Not so where it may not end a value: `a⏎# ends with </parameter>⏎</parameter>`.
    const isDoubled = yield* source.sees(close);
    source.at = after;
    if (isDoubled && (yield* this.mayEnd(close, at))) return { at, tag: "own" };
    // `<parameter name="x">1</parameter>` in a text of another format: it closes that.
    if (this.closesAlike(at, after)) return undefined;
    // In a quoted call, or behind what may end the value, it says nothing of the value.
    if (this.callAt !== undefined || this.outerAt !== undefined) return undefined;
    // `ls⏎</parameter>⏎some text⏎</function>`: text if the value closes well later, its end if not. Of several the first, since what
    // stands behind it is not known to be value.
    this.passedAt ??= at;
    // `ls⏎</parameter>⏎</invoke>`, `ls</parameter><timeout>`: a wrong tag stands where one of the format should.
    return (yield* this.seesTagBehind(at, after)) ? { at: this.passedAt, tag: "passed" } : undefined;
  }

  private seeOpening(tag: string, at: number): Scan<ValueEnd | undefined> {
    // `<tool_call>⏎<function=f>⏎<parameter=x>`: all values of a quoted call are quoted.
    return this.callAt === undefined ? this.judgeOpening(tag, at) : this.source.now(this.quote(tag));
  }

  private *judgeOpening(tag: string, at: number): Scan<ValueEnd | undefined> {
    // `Use:⏎<parameter=i>⏎1⏎</parameter>⏎in calls.⏎</parameter>`: the text shows how a value is written.
    if (yield* this.quotesValue(at)) return this.quote(tag);
    // `a⏎<parameter=b>⏎1⏎</parameter>`: the closing tag was left out.
    return tag === this.syntax.next && (yield* this.mayEnd(tag, at)) ? this.endBefore(at) : undefined;
  }

  private quote(tag: string): undefined {
    if (tag === this.syntax.open) this.quotedValues += 1;
  }

  /** `a⏎</function>`: the closing tag was left out, unless it is still to come. In a quoted call, it closes that. */
  private seeOuterClose(tag: string, at: number): Scan<undefined> {
    const { source } = this;
    if (this.outerAt !== undefined || this.callAt !== undefined) return source.now(undefined);
    return source.then(this.mayEnd(tag, at), (mayEnd) => {
      if (mayEnd) this.outerAt = at;
      return source.now(undefined);
    });
  }

  /** `Write this:⏎<tool_call>…</tool_call>⏎</parameter>`: a call is quoted, if the value closes well behind it. */
  private seeMark(tag: string, at: number): void {
    this.callAt ??= at;
    // Tokens that end the turn start no call: a text may show a whole chat.
    if (!this.syntax.ends.includes(tag)) this.calls += 1;
  }

  /** The value has no closing tag before `at`, unless one was passed over. */
  private endBefore(at: number): ValueEnd {
    return this.passedAt === undefined ? { at, tag: "other" } : { at: this.passedAt, tag: "passed" };
  }

  /** Whether a closing tag from `at` to `after` closes what the text opened that is written alike. */
  private closesAlike(at: number, after: number): boolean {
    const { alike } = this.syntax;
    if (alike === undefined) return false;
    this.alikes += this.source.text.slice(this.countedTo, at).match(alike)?.length ?? 0;
    this.countedTo = after;
    if (this.alikes === 0) return false;
    this.alikes -= 1;
    return true;
  }

  /** Whether a tag follows the closing tag at `at`, with no blank before either: tags that shall be the format's stand so. */
  private *seesTagBehind(at: number, after: number): Scan<boolean> {
    const { source } = this;
    source.at = after;
    yield* source.skipSpace();
    const isIndented = isBlank(source.text[at - 1]) || isBlank(source.text[source.at - 1]);
    const isTag = !isIndented && (yield* source.take("<")) !== undefined && isLetter(yield* source.peek());
    source.at = after;
    return isTag;
  }

  /** Whether what opens at `at` closes again, and the value that it stands in behind it: then it is text of that value. */
  private *quotesValue(at: number): Scan<boolean> {
    const { source } = this;
    const { open, close, pairs } = this.syntax;
    const after = source.at;
    source.at = at;
    let values = 1;
    for (let looked = 0; values > 0 && looked < MAX_PAIRS; looked++) {
      const hit = yield* source.until(pairs);
      if (hit !== open && hit !== close) break;
      source.at += hit.length;
      values += hit === open ? 1 : -1;
    }
    source.at = after;
    return values === 0;
  }
}
