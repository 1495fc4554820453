import type { Turn } from "./streaming-parser.ts";
import type { Scan, TextSource } from "./text-source.ts";

/** Letters that a mention of a mark stands between. */
const QUOTES: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  "`": "`",
  "*": "*",
  "(": ")",
  "“": "”",
  "‘": "’",
  "«": "»",
};
/** Right behind these begins what is no word of the line: prose has a blank between. */
const SENTENCE_ENDS = [".", "!", "?", "…", "。", "！", "？"];
/** What only words have right behind them. */
const PUNCTUATION = [".", ",", ";", ":", "!", "?"];
/** What stands before a tag that closes something. */
const CALL_ENDS = ['"', "}", "]", ">"];
const LINE_ENDS = ["", "\n", "\r"];

/** True for the code of a blank or a tab. */
export const isBlank = (code: number): boolean => code === 32 || code === 9;

/** Whether the words of a line go on behind a mark: those of a format have the end of the line there, or another mark. */
export function* goesOn(source: TextSource): Scan<boolean> {
  const { at } = source;
  yield* source.skipWhile(isBlank);
  const next = yield* source.peek();
  source.at = at;
  return next !== "<" && !LINE_ENDS.includes(next);
}

/** Whether a mark that has been read stands in quotes: it is spoken of, whatever follows. */
export function isQuoted({ source, out }: Turn): Scan<boolean> {
  const close = QUOTES[out.before];
  return close === undefined ? source.now(false) : source.then(source.peek(), (next) => source.now(next === close));
}

/**
 * Whether a mark that has been read stands in a line as its words do: apart, with words before it and behind. What models write a mark for
 * stands right behind it, or on a line of its own; where a format's mark stands so, it is a call nevertheless if it reads as one.
 */
export function* standsApart({ source, out }: Turn): Scan<boolean> {
  if (out.startsLine || !isBlank(out.before.charCodeAt(0))) return false;
  const next = yield* source.peek();
  return PUNCTUATION.includes(next) || (isBlank(next.charCodeAt(0)) && (yield* goesOn(source)));
}

/** Whether prose speaks of a mark that has been read, and that no words follow where it is meant. */
export function* isMentioned(turn: Turn): Scan<boolean> {
  return (yield* isQuoted(turn)) || (yield* standsApart(turn));
}

/** Whether reasoning may begin: where the answer or a line does, behind a call or other reasoning, and right behind a sentence. */
export const startsThought = ({ out }: Turn): boolean => out.startsLine || SENTENCE_ENDS.includes(out.before);

/** Whether a closing tag of reasoning that has been read is spoken of. @param opened An opening one was before it. */
export function* closesMention(turn: Turn, opened: boolean): Scan<boolean> {
  return (yield* isQuoted(turn)) || (opened && (yield* goesOn(turn.source)));
}

/** Whether a closing tag that has been read stands in a line of prose, or in quotes, and not behind something like a call. */
export function* isClosingMention(turn: Turn): Scan<boolean> {
  if (yield* isQuoted(turn)) return true;
  const { source, out } = turn;
  return out.lastLetter !== "" && !CALL_ENDS.includes(out.lastLetter) && (yield* goesOn(source));
}
