import type { Markers, Scan, TextSource } from "verl";
import { isBlank, QuotedCalls, type CallSyntax } from "./quoted-calls.ts";
import type { PairSyntax, QuotedValues } from "./quoted-values.ts";

/** The tags of a format whose values stand in the text as they are, so that they may hold any tag. */
export interface RawValueSyntax extends PairSyntax, CallSyntax {
  /** What closing tags start with that models write in place of `close`. */
  stem: string;
  /** What the format allows behind `close`. */
  followers: readonly string[];
  /** All tags and tokens of these. */
  marks: Markers;
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

/** What looking on to the end of the answer costs of its repairs, beside the letters: it may be in vain at each value. */
export const VAIN_COST = 1 << 16;
/** A tag between two of one kind is spoken of. */
const QUOTES: readonly string[] = ["`", '"', "'"];
/** True for the code of a letter that may stand in an opening tag behind what it starts with. */
export const isHeader = (code: number): boolean => code !== 62 && code !== 60 && code !== 10;
const isLetter = (letter: string): boolean => /[\p{L}/|｜]/u.test(letter);
const isSpacing = (letter: string | undefined): boolean => letter === " " || letter === "\t";

/**
 * Which tag ends a value that may hold any tag. It holds what has been seen of the value; there is a method for each kind of tag, whose
 * rules apply in their order. The examples are Qwen3-Coder's, where `</parameter>` closes a value, `</function>` and `</tool_call>` what
 * it stands in, `<parameter=` opens one; `⏎` is a line break.
 *
 * A tag in quotes is text. A value is first mere text as well. From an outer closing tag on that may end it, only closing tags may follow
 * that were text; other text shows that it was spoken of, if the value closes well later. From the mark of a call on, it either quotes that
 * call and any number of others, and then closes well behind them, or has no end. Then these calls are read as such, unless something
 * says that they are quoted nevertheless: more is closed behind the first than they open, or that stands in a code block. Up to the last
 * such tag, or in all the rest, nothing is read as a call; nor where the answer has no repairs left for reading it again.
 */
export class ValueRules {
  private readonly start: number;
  /** The first closing tag of its own that was passed over though it closes nothing else: the end of a value that has no other. */
  private passedAt: number | undefined;
  /** The outer closing tag that may end it, and up to where only such tags follow; undefined once other text does. */
  private outerAt: number | undefined;
  private outerTo: number | undefined;
  /** From the first mark of a call, or of the end of the turn, on. */
  private calls: QuotedCalls | undefined;
  /** Quoted values that have not been closed. */
  private quotedValues = 0;
  /** Likewise, what is written alike; and up to where that has been counted. */
  private alikes = 0;
  private countedTo: number;

  constructor(
    private readonly source: TextSource,
    private readonly syntax: RawValueSyntax,
    private readonly quoted: QuotedValues,
    private readonly mayEnd: MayEnd,
  ) {
    this.start = this.countedTo = source.at;
  }

  /** Looks at a tag, at which the source stands. @returns The end that it shows; undefined where it is text. */
  see(tag: string): Scan<ValueEnd | undefined> {
    const { source } = this;
    // "Write `<parameter=x>`": it is spoken of.
    if (!QUOTES.includes(source.text[source.at - 1]!)) return this.judge(tag);
    return source.then(this.isQuoted(tag), (isQuoted) => (isQuoted ? source.now(undefined) : this.judge(tag)));
  }

  private judge(tag: string): Scan<ValueEnd | undefined> {
    const { source, outerAt } = this;
    const { close, open, next, outer } = this.syntax;
    const { at } = source;
    const isOuter = outer.includes(tag);
    // `a⏎</function>⏎<tool_call>`: what might end the value did. `a⏎</function>⏎</tool_call>⏎</parameter>⏎</function>`: it was text.
    if (outerAt !== undefined && tag !== close && !isOuter && this.showsOuter(tag, at)) {
      return source.now(this.endBefore(outerAt));
    }
    source.at += tag.length;
    if (tag === close) return this.seeOwnClose(at);
    if (tag === open || tag === next) return this.seeOpening(tag, at);
    if (isOuter) return this.seeOuterClose(tag, at);
    this.seeMark(tag, at);
    return source.now(undefined);
  }

  /** Whether a tag behind a quote, at which the source stands, has another behind it. */
  private *isQuoted(tag: string): Scan<boolean> {
    const { source } = this;
    const { at } = source;
    source.at += tag.length;
    if (!tag.endsWith(">")) {
      yield* source.skipWhile(isHeader);
      yield* source.take(">");
    }
    const next = yield* source.peek();
    const isQuoted = next === source.text[at - 1];
    source.at = at;
    return isQuoted;
  }

  /** The end that is known when nothing follows. */
  atEnd(): ValueEnd | undefined {
    const { calls, outerAt, passedAt } = this;
    // `Use <parameter=x>:⏎<tool_call>…</tool_call>⏎</parameter>⏎</function>`: a tag was spoken of that another seemed to close.
    if (calls?.closedAt !== undefined) return { at: calls.closedAt, tag: "passed" };
    if (calls?.quotedTo !== undefined) return undefined;
    if (outerAt !== undefined) return this.endBefore(outerAt);
    // `ls⏎</parameter>⏎some text⏎<tool_call>…`: only its own tag is left. Without the call, the answer was cut off in a value.
    return calls === undefined || passedAt === undefined ? undefined : { at: passedAt, tag: "passed" };
  }

  /** Where a call may start in a value without an end; undefined: nowhere. */
  get restart(): number | undefined {
    return this.calls?.restart(this.start);
  }

  private seeOwnClose(at: number): Scan<ValueEnd | undefined> {
    this.calls?.seeClose(at, this.quotedValues === 0);
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
    const isDoubled = yield* source.sees(close);
    source.at = after;
    // `<parameter name="x">1</parameter>` in a text of another format: it closes that.
    if (this.closesAlike(at, after)) return undefined;
    // `a⏎</parameter>⏎</parameter>`: it was written twice. Not so where it may not end a value: `a⏎# ends with </parameter>⏎</parameter>`.
    if (isDoubled && (yield* this.mayEnd(close, at))) return { at, tag: "own" };
    // In a quoted call, or behind what may end the value, it says nothing of the value.
    if (this.calls !== undefined || this.outerAt !== undefined) return undefined;
    // `ls⏎</parameter>⏎some text⏎</function>`: text if the value closes well later, its end if not. Of several the first, since what
    // stands behind it is not known to be value.
    this.passedAt ??= at;
    // `ls⏎</parameter>⏎</invoke>`, `ls</parameter><timeout>`: a wrong tag stands where one of the format should.
    return (yield* this.seesTagBehind(at, after)) ? { at: this.passedAt, tag: "passed" } : undefined;
  }

  private seeOpening(tag: string, at: number): Scan<ValueEnd | undefined> {
    // `<tool_call>⏎<function=f>⏎<parameter=x>`: all values of a quoted call are quoted.
    return this.calls === undefined ? this.judgeOpening(tag, at) : this.source.now(this.quote(tag));
  }

  private *judgeOpening(tag: string, at: number): Scan<ValueEnd | undefined> {
    // `Use:⏎<parameter=i>⏎1⏎</parameter>⏎in calls.⏎</parameter>`: the text shows how a value is written.
    if (yield* this.quoted.has(at)) return this.quote(tag);
    // `a⏎<parameter=b>⏎1⏎</parameter>`: the closing tag was left out.
    const isNext = tag === this.syntax.next && (yield* this.mayEnd(tag, at));
    return isNext ? this.endBefore(this.outerAt ?? at) : undefined;
  }

  private quote(tag: string): undefined {
    if (tag === this.syntax.open) this.quotedValues += 1;
  }

  /** `a⏎</function>`: the closing tag was left out, unless it is still to come. In a quoted call, it closes that. */
  private seeOuterClose(tag: string, at: number): Scan<undefined> {
    const { source } = this;
    if (this.calls !== undefined) {
      this.calls.seeOuterClose(tag, at);
      return source.now(undefined);
    }
    if (this.outerAt !== undefined) {
      this.outerTo = this.followsOuter(at) ? source.at : undefined;
      return source.now(undefined);
    }
    const after = source.at;
    return source.then(this.mayEnd(tag, at), (mayEnd) => {
      if (mayEnd) [this.outerAt, this.outerTo] = [at, after];
      return source.now(undefined);
    });
  }

  /** Whether a tag at `at` shows that an outer closing tag ended the value; not so `Ends with </tool_call>. So:⏎<tool_call>`. */
  private showsOuter(tag: string, at: number): boolean {
    if (this.followsOuter(at) || this.source.repairLeft <= VAIN_COST) return true;
    this.outerTo = undefined;
    return this.calls === undefined && this.syntax.ends.includes(tag);
  }

  private followsOuter(at: number): boolean {
    return this.outerTo !== undefined && isBlank(this.source.text.slice(this.outerTo, at));
  }

  /** `Write this:⏎<tool_call>…</tool_call>⏎</parameter>`: a call is quoted, if the value closes well behind it. */
  private seeMark(tag: string, at: number): void {
    this.calls ??= new QuotedCalls(this.source, this.syntax, at);
    this.calls.seeMark(tag, at);
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
    const isIndented = isSpacing(source.text[at - 1]) || isSpacing(source.text[source.at - 1]);
    const isTag = !isIndented && (yield* source.take("<")) !== undefined && isLetter(yield* source.peek());
    source.at = after;
    return isTag;
  }
}
