import { stringifyLosslessJson } from "../data/lossless-json.ts";
import type { ClassEntry } from "../registry/entry.ts";
import { classRegistrar, type ClassRegistrar } from "../registry/register.ts";
import type { ToolSchema } from "./tool.ts";

/** A call that the model asked for. */
export interface ToolCall {
  name: string;
  /** Decoded arguments, coerced by the tool's schema; integers above 2^53 are `bigint`. */
  arguments: Record<string, unknown>;
  /** Given by formats that number their calls. */
  id?: string;
  /** True when the text broke its format and was read leniently. */
  repaired?: boolean;
  /** Paths (`limits.0`) of arguments whose value fits no type that the schema allows; they are as the model wrote them. The first 32, long keys clipped. */
  mistyped?: string[];
}

/** A stretch of text that looks like a call and is none. */
export interface ToolCallError {
  /** Its own text alone, in the order of the answer; what other errors, content or reasoning have is none of it, but for `inText`. */
  raw: string;
  /** For the model: `truncated`, `arguments must be an object`, … */
  reason: string;
  /** How many of the answer's calls stand before it. Undefined: all of them. */
  callsBefore?: number;
  /** `raw` is part of the content or the reasoning as well: the text was told before it was known as an error. Default: false. */
  inText?: boolean;
}

export interface ParsedAnswer {
  /** What the model says, without reasoning and calls, untrimmed. */
  content: string;
  reasoning: string;
  calls: ToolCall[];
  errors: ToolCallError[];
}

/** How to read an answer; all of it known before the first token. */
export interface ReadOptions {
  /** Schemas of the tools on offer; they say what type an argument has. Default: none. */
  tools?: readonly ToolSchema[];
  /** A call that breaks its format is an error, even where it is clear what was meant. Default: false. */
  strict?: boolean;
  /** Accepts calls in reasoning that never closes, or that nothing follows, instead of reporting them as errors. Default: false. */
  recoverReasoning?: boolean;
  /**
   * Whether the prompt ends inside a reasoning tag, so that the answer starts in it. Default: not known; a closing tag without an opening
   * one then says that it did. With `false` such a tag is mere text.
   */
  startsInReasoning?: boolean;
}

export interface EndOptions {
  /** Why generation ended. No call of an answer that `length` cut off is executed: each becomes an error. Default: `stop`. */
  finishReason?: "stop" | "length";
}

/** How a whole answer is read. */
export type ParseOptions = ReadOptions & EndOptions;

/**
 * What is new in an answer, each thing once. A call is told when it is complete and valid, arguments and all, so none is ever taken
 * back for its form; whether it may run is known from the answer that `end` returns. `retract` says that all so far was reasoning, whose
 * opening tag the prompt had: calls told before were drafts.
 */
export type AnswerDelta =
  | { type: "content" | "reasoning"; text: string }
  | { type: "call"; index: number; call: ToolCall }
  | { type: "error"; error: ToolCallError }
  | { type: "retract"; reasoning: string };

/** How an answer is read that comes in pieces. */
export interface StreamOptions extends ReadOptions {
  onDelta?: (delta: AnswerDelta) => void;
}

/** Takes an answer in pieces. However the text is cut, `end` returns what `parse` does of the whole. */
export interface ToolParserStream {
  push(piece: string): void;
  end(options?: EndOptions): ParsedAnswer;
}

/**
 * Reads the calls out of a model's answer. Text is untrusted: a parser never throws on it, and takes linear time. Built-in formats read
 * 32,768 calls of an answer, errors included; what follows is one error.
 * Most formats extend `MarkedToolParser`, which brings streaming, reasoning and the rules for cut answers.
 *
 *     @ToolParser.register("my_format", { description: "…" })
 *     class MyParser extends ToolParser { … }
 */
export abstract class ToolParser {
  static readonly register: ClassRegistrar<"tool_parser"> = classRegistrar("tool_parser");

  /** @param answer The answer's tokens decoded with special tokens kept: they are what many formats are made of. */
  parse(answer: string, { finishReason, ...options }: ParseOptions = {}): ParsedAnswer {
    const stream = this.stream(options);
    stream.push(answer);
    return stream.end({ finishReason });
  }

  abstract stream(options?: StreamOptions): ToolParserStream;
}

/** Calls and errors of an answer in the order in which they stand in it. */
export function inOrder({ calls, errors }: Pick<ParsedAnswer, "calls" | "errors">): (ToolCall | ToolCallError)[] {
  const entries: (ToolCall | ToolCallError)[] = [];
  let told = 0;
  for (const [index, call] of calls.entries()) {
    while (told < errors.length && (errors[told]!.callsBefore ?? Infinity) <= index) entries.push(errors[told++]!);
    entries.push(call);
  }
  for (; told < errors.length; told++) entries.push(errors[told]!);
  return entries;
}

/** A call in OpenAI's form, where arguments are text: encoded once, non-ASCII letters and large integers as they are. */
export function openAiToolCall({ name, arguments: args }: ToolCall, id: string) {
  return { id, type: "function" as const, function: { name, arguments: stringifyLosslessJson(args) } };
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    tool_parser: ClassEntry<ToolParser>;
  }
}
