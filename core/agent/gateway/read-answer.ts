import type { Tokenizer } from "../../data/tokenizer.ts";
import type { ParsedAnswer } from "../tool-parser.ts";
import type { Answer } from "./gateway-session.ts";

/** An answer's text, and what a parser makes of it. */
export interface ReadAnswer {
  text: string;
  parsed: ParsedAnswer;
}

/**
 * Reads an answer. A model may have several end tokens. Parsers know those of the models that they are for, and some close a call; another
 * one, which is content or a thought to the parser, is no part of the text.
 */
export function readAnswer(
  { text, exchange }: Answer,
  tokenizer: Pick<Tokenizer, "decode">,
  parse: (text: string) => ParsedAnswer,
): ReadAnswer {
  const parsed = parse(text);
  const { ids, stopReason } = exchange.answer;
  const last = ids.subarray(-1);
  const isSpecial = tokenizer.decode(last, { skipSpecialTokens: true }) === "";
  const end = stopReason === "stop" && isSpecial ? tokenizer.decode(last) : "";
  const isTold = text.endsWith(end) && (parsed.content.endsWith(end) || parsed.reasoning.endsWith(end));
  if (end === "" || !isTold) return { text, parsed };
  const withoutEnd = text.slice(0, -end.length);
  return { text: withoutEnd, parsed: parse(withoutEnd) };
}
