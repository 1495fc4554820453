import type { Tokenizer } from "../../data/tokenizer.ts";
import type { AnswerDelta, ParsedAnswer, ParseOptions, ToolParser } from "../tool-parser.ts";
import type { Answer } from "./gateway-session.ts";
import { writtenParts, type WrittenPart } from "./written-parts.ts";

/** An answer's text, and what a parser makes of it. */
export interface ReadAnswer {
  text: string;
  parsed: ParsedAnswer;
  parts: WrittenPart[];
}

/**
 * Reads an answer. A model may have several end tokens. Parsers know those of the models that they are for, and some close a call; another
 * one, which is content or a thought to the parser, is no part of the text.
 */
export function readAnswer(
  { text, exchange }: Answer,
  tokenizer: Pick<Tokenizer, "decode">,
  parser: ToolParser,
  options: ParseOptions,
): ReadAnswer {
  const whole = read(text, parser, options);
  const { content, reasoning } = whole.parsed;
  const { ids, stopReason } = exchange.answer;
  const last = ids.subarray(-1);
  const isSpecial = tokenizer.decode(last, { skipSpecialTokens: true }) === "";
  const end = stopReason === "stop" && isSpecial ? tokenizer.decode(last) : "";
  const isTold = text.endsWith(end) && (content.endsWith(end) || reasoning.endsWith(end));
  return end === "" || !isTold ? whole : read(text.slice(0, -end.length), parser, options);
}

function read(text: string, parser: ToolParser, { finishReason, ...options }: ParseOptions): ReadAnswer {
  const deltas: AnswerDelta[] = [];
  const stream = parser.stream({ ...options, onDelta: (delta) => void deltas.push(delta) });
  stream.push(text);
  const parsed = stream.end({ finishReason });
  return { text, parsed, parts: writtenParts(parsed, deltas) };
}
