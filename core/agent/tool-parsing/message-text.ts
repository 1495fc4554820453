import type { CallMessage } from "./call-object.ts";
import { JsonScanner } from "./json-scanner.ts";
import type { CallItem } from "./read-calls.ts";

const QUOTE = `["'“”‘’]?`;
const BETWEEN = /[\s,]*/y;

/**
 * Gives each call of a message its part of the message's text, and what is said its place before them or behind them: the text of no
 * call has it again.
 * @param calls Each has all of the message's text.
 */
export function shareMessage(text: string, calls: readonly CallItem[], message: CallMessage): void {
  const [head, tail] = [calls[0]!, calls.at(-1)!];
  let { from, to } = head;
  if (message.content !== "" && message.callsFirst) {
    tail.behind = message.content;
    to = from + (placesOf("content", text.slice(from, to)).at(-1)?.index ?? to - from);
  } else if (message.content !== "") {
    head.before = message.content;
    from += placesOf(message.key, text.slice(from, to))[0]?.index ?? 0;
  }
  const starts = startsOf(text.slice(from, to), calls.length, message.key);
  for (const [i, call] of calls.entries())
    [call.from, call.to] = [from + starts[i]!, from + (starts[i + 1] ?? to - from)];
}

/** Where a key stands, with the bracket of a list behind it. */
const placesOf = (key: string, text: string): RegExpExecArray[] => [
  ...text.matchAll(new RegExp(`(?<!\\\\)${QUOTE}\\b${key}\\b${QUOTE}\\s*:[\\s[]*`, "g")),
];

/** Where the text of each call starts: the first has what stands before it. Where the text is not JSON, each has as much. */
function startsOf(text: string, count: number, key: string): number[] {
  const place = placesOf(key, text)[0];
  const starts = [0];
  let at = place === undefined ? text.length : place.index + place[0].length;
  while (starts.length < count) {
    const scanner = new JsonScanner();
    BETWEEN.lastIndex = scanner.feed(text, at);
    BETWEEN.test(text);
    at = BETWEEN.lastIndex;
    if (scanner.status !== "done" || at === text.length)
      return Array.from({ length: count }, (_, i) => Math.floor((text.length * i) / count));
    starts.push(at);
  }
  return starts;
}
