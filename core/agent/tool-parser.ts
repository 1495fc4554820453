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
}

/** A stretch of text that looks like a call and is none. */
export interface ToolCallError {
  raw: string;
  reason: string;
}

export interface ParsedAnswer {
  /** What the model says, without reasoning and calls. */
  content: string;
  reasoning: string;
  calls: ToolCall[];
  errors: ToolCallError[];
}

export interface ParseOptions {
  /** Schemas of the tools on offer; they say what type an argument has. Default: none. */
  tools?: readonly ToolSchema[];
  /** Why generation ended. A call that `length` cut off is an error. Default: `stop`. */
  finishReason?: "stop" | "length";
}

/** Takes an answer in pieces. However the text is cut, `finish` returns what `parse` does of the whole. */
export interface ToolParserStream {
  push(piece: string): void;
  finish(options?: Pick<ParseOptions, "finishReason">): ParsedAnswer;
}

/**
 * Reads the calls out of a model's answer. Text is untrusted: a parser never throws on it, and takes linear time.
 *
 *     @ToolParser.register("my_format", { description: "…" })
 *     class MyParser extends ToolParser { … }
 */
export abstract class ToolParser {
  static readonly register: ClassRegistrar<"tool_parser"> = classRegistrar("tool_parser");

  /** @param answer Text, or token ids for formats whose markers are special tokens. */
  abstract parse(answer: string | ArrayLike<number>, options?: ParseOptions): ParsedAnswer;

  abstract stream(options?: Pick<ParseOptions, "tools">): ToolParserStream;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    tool_parser: ClassEntry<ToolParser>;
  }
}
