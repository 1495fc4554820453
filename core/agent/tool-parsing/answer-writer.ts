import type { AnswerDelta, EndOptions, ParsedAnswer, StreamOptions, ToolCall, ToolCallError } from "../tool-parser.ts";
import { readBareValue, SchemaTypes } from "./coerce.ts";

/** What a format found of a call: all but the types of its arguments. */
export type FoundCall = Omit<ToolCall, "mistyped">;

/** A call whose values are bare text, as XML-like formats write them. */
export interface FoundTextCall {
  name: string;
  parameters: ReadonlyMap<string, string>;
  /** The text broke the format. */
  repaired: boolean;
}

/**
 * Calls and errors that are read of one answer. An answer of 128 thousand tokens holds no more calls than this; text that is made to hold
 * more of them costs more time than its letters. What follows the last is one error.
 */
const MAX_ENTRIES = 32_768;
/** Reason of what follows them. */
export const TOO_MANY = `more than ${MAX_ENTRIES} calls in one answer: the rest is not read`;
const UNTERMINATED = "tool call inside unterminated reasoning";
const UNANSWERED = "tool call inside reasoning that nothing follows";
const AFTER_TURN = "tool call after the end of the turn";
const CUT_OFF = "not executed: the answer was cut off by the length limit";
/** Reason of a call that the end of the answer cut off. */
export const TRUNCATED = "truncated";

/**
 * Values that look like calls and are none that are read of one answer: an answer of 128 thousand tokens may list as many. What stands
 * behind them is content.
 */
const MAX_LOOKALIKES = 8192;

/** Collects what a parser reads: types arguments by the tools' schemas, applies `strict`, and tells each new thing once. */
export class AnswerWriter {
  private contentText = "";
  private reasoningText = "";
  /** Calls and errors in their order, and the text of each; an object for each pair would be kept for each call. */
  private entries: (ToolCall | ToolCallError)[] = [];
  private raws: string[] = [];
  /** How many letters of content stand before each. */
  private places: number[] = [];
  private told = 0;
  /** Nothing but white space and reasoning so far. */
  isBlank = true;
  /** Reasoning that has ended, as long as nothing follows it. Where calls may be taken out of it, it is not told yet. */
  thoughts = "";
  private lookalikes = 0;
  /** Of the content so far, white space apart. */
  lastLetter = "";
  /** The letter before the next one of the content; empty right behind a call. */
  before = "";
  /** Nothing but white space stands before the next letter in its line, or since a call or reasoning. */
  startsLine = true;
  /** True right after a call or an error, white space apart: a closing tag there belongs to it. */
  afterCall = false;
  private readonly names: ReadonlySet<unknown>;
  private readonly types = new Map<string, SchemaTypes>();

  constructor(private readonly options: StreamOptions) {
    this.names = new Set(options.tools?.map(({ function: tool }) => tool.name));
    for (const { function: tool } of options.tools ?? []) {
      if (tool.parameters !== undefined) this.types.set(tool.name, new SchemaTypes(tool.parameters));
    }
  }

  /** How many more calls and errors are read. */
  get room(): number {
    return MAX_ENTRIES - this.entries.length;
  }

  /** Whether values that may be none are still read as calls. */
  get mayGuess(): boolean {
    return this.lookalikes < MAX_LOOKALIKES;
  }

  /** A value that looked like calls is content. */
  lookalike(text: string): void {
    this.lookalikes += 1;
    this.content(text);
  }

  content(text: string): void {
    if (text === "") return;
    if ((this.afterCall || this.isBlank) && text.trim() !== "") {
      this.afterCall = false;
      this.begin();
    }
    this.contentText += text;
    const { length } = text.trimEnd();
    if (length > 0) this.lastLetter = text[length - 1]!;
    this.startsLine = text.includes("\n", length) || (length === 0 && this.startsLine);
    this.before = text[text.length - 1]!;
    if (this.options.onDelta) this.tell({ type: "content", text });
  }

  reasoning(text: string): void {
    if (text === "") return;
    this.reasoningText += text;
    this.tell({ type: "reasoning", text });
  }

  /** Reasoning has ended. @param text all of it, told already unless calls may be taken out of it. */
  reasoned(text: string): void {
    this.startsLine = true;
    if (this.isBlank) this.thoughts += text;
    else if (this.options.recoverReasoning) this.reasoning(text);
  }

  /**
   * @param raw The text of the call, for errors.
   * @param call Is completed, and becomes part of the answer.
   * @param repaired The call's text, or that around it, broke the format. Default: what the call says.
   */
  call(raw: string, call: FoundCall, repaired = call.repaired): void {
    const mistyped: string[] = [];
    const types = this.types.get(call.name);
    if (types !== undefined) call.arguments = types.object(call.arguments, mistyped);
    this.add(raw, call, repaired, mistyped);
  }

  textCall(raw: string, { name, parameters, repaired }: FoundTextCall): void {
    const mistyped: string[] = [];
    const types = this.types.get(name);
    const args = Array.from(parameters, ([key, text]) => {
      return [key, types === undefined ? readBareValue(text) : types.text(key, text, mistyped)] as const;
    });
    this.add(raw, { name, arguments: Object.fromEntries(args) }, repaired, mistyped);
  }

  /** @param inText The text was told as content or reasoning. */
  error(raw: string, reason: string, inText = false): void {
    const error: ToolCallError = { raw, reason, callsBefore: this.told };
    if (inText) error.inText = true;
    this.record(error, raw);
    this.tell({ type: "error", error });
  }

  /** What follows the last call that there is room for; separators and brackets that close a list belong to that call. */
  unread(rest: string): void {
    if (/[^\s,;\]}]/.test(rest)) this.error(rest, TOO_MANY);
  }

  /** Whether it is known which tools are on offer. */
  get knowsTools(): boolean {
    return this.names.size > 0;
  }

  /** Whether a tool of that name is on offer. */
  knows(name: unknown): boolean {
    return this.names.has(name);
  }

  /** Whether a tool of that name takes an argument of that name; true when nothing is known about it. */
  takes(name: string, key: string): boolean {
    return this.types.get(name)?.allows(key) ?? true;
  }

  /** All text so far was reasoning. */
  retract(text: string): void {
    this.reasoningText = this.options.recoverReasoning ? "" : text;
    [this.entries, this.raws, this.places] = [[], [], []];
    [this.contentText, this.lastLetter, this.before, this.told] = ["", "", "", 0];
    [this.afterCall, this.isBlank] = [false, true];
    this.tell({ type: "retract", reasoning: this.reasoningText });
    this.reasoned(text);
  }

  /** Reasoning never closed. @param inner what a parser makes of its text. */
  unterminated(text: string, inner: AnswerWriter): void {
    if (inner.entries.length === 0) return this.reasoned(text);
    this.begin();
    this.takeOver(inner, UNTERMINATED);
  }

  /** The answer has nothing but reasoning. @param inner what a parser makes of the thoughts. */
  unanswered(inner: AnswerWriter): void {
    if (inner.entries.length === 0) return this.begin();
    this.thoughts = "";
    this.takeOver(inner, UNANSWERED);
  }

  /** Text followed the token that ends the turn, and was told as content. @param inner what a parser makes of it. */
  afterTurn(inner: AnswerWriter): void {
    for (const raw of inner.raws) this.error(raw, AFTER_TURN, true);
  }

  /** Takes over the calls of reasoning, and the reasoning itself where they are taken out of it. */
  private takeOver(inner: AnswerWriter, reason: string): void {
    if (!this.options.recoverReasoning) {
      for (const raw of inner.raws) this.error(raw, reason, true);
      return;
    }
    let at = 0;
    for (const [i, entry] of inner.entries.entries()) {
      const raw = inner.raws[i]!;
      this.reasoning(inner.contentText.slice(at, (at = inner.places[i]!)));
      if ("reason" in entry) {
        this.error(raw, entry.reason);
        continue;
      }
      this.record(entry, raw);
      this.tell({ type: "call", index: this.told++, call: entry });
    }
    this.reasoning(inner.contentText.slice(at));
  }

  end({ finishReason = "stop" }: EndOptions): ParsedAnswer {
    const answer: ParsedAnswer = { content: this.contentText, reasoning: this.reasoningText, calls: [], errors: [] };
    for (let i = 0; i < this.entries.length; i++) {
      const entry = this.entries[i]!;
      if (finishReason !== "length") {
        if ("reason" in entry) answer.errors.push(entry);
        else answer.calls.push(entry);
      } else {
        const raw = this.raws[i]!;
        const error = "reason" in entry ? { ...entry, callsBefore: 0 } : { raw, reason: CUT_OFF, callsBefore: 0 };
        answer.errors.push(error);
      }
    }
    return answer;
  }

  private add(raw: string, call: ToolCall, repaired: boolean | undefined, mistyped: string[]): void {
    if (repaired && this.options.strict) return this.error(raw, "the call breaks its format");
    if (repaired) call.repaired = true;
    if (mistyped.length > 0) call.mistyped = mistyped;
    this.record(call, raw);
    this.tell({ type: "call", index: this.told++, call });
  }

  private record(entry: ToolCall | ToolCallError, raw: string): void {
    this.entries.push(entry);
    this.raws.push(raw);
    this.places.push(this.contentText.length);
    this.afterCall = true;
    [this.before, this.startsLine] = ["", true];
    this.begin();
  }

  /** There is something besides reasoning: calls in what was thought before were drafts. */
  private begin(): void {
    this.isBlank = false;
    if (this.options.recoverReasoning) this.reasoning(this.thoughts);
    this.thoughts = "";
  }

  private tell(delta: AnswerDelta): void {
    this.options.onDelta?.(delta);
  }
}
