import { isSpace, isWord, noteNumber, readLiteral, TRUNCATED, type Scan, type TextSource } from "verl";

export type PythonCall = { name: string; arguments: Record<string, unknown> } | { reason: string };

/** Letters of tool names: those of Python, and what other languages add. */
export const isName = (code: number): boolean => isWord(code) || code === 45 || code === 46;

/** Whether `name(key=` or `name()` stands at a place, white space allowed; nothing is read. */
export function seesPythonCall(source: TextSource, at: number, anyArguments: boolean): Scan<boolean> {
  HEAD.lastIndex = at;
  const head = HEAD.exec(source.text);
  return head === null ? seesLater(source, at, anyArguments) : source.now(anyArguments || head[1] !== undefined);
}

/** A head that is there to its end, as almost all are. Group: what arguments by name start with, or the bracket that none need. */
const HEAD =
  /[ \t-\r]{0,64}[\w.\-\x80-\uffff]{1,256}[ \t-\r]{0,64}\([ \t-\r]{0,64}(?:(\)|[\w\x80-\uffff]{1,256}[ \t-\r]{0,64}=)|[\w\x80-\uffff]{0,256}[ \t-\r]{0,64}[^\w \t-\r)=\x80-\uffff])/y;

function* seesLater(source: TextSource, from: number, anyArguments: boolean): Scan<boolean> {
  const { at } = source;
  source.at = from;
  const seen = yield* readHead(source, anyArguments);
  source.at = at;
  return seen;
}

function* readHead(source: TextSource, anyArguments: boolean): Scan<boolean> {
  yield* source.skipSpace();
  if ((yield* source.takeWhile(isName)) === "") return false;
  yield* source.skipSpace();
  if (!(yield* source.take("("))) return false;
  yield* source.skipSpace();
  if (anyArguments || (yield* source.take(")"))) return true;
  if ((yield* source.takeWhile(isWord)) === "") return false;
  yield* source.skipSpace();
  return (yield* source.take("=")) !== undefined;
}

/** Reads `name(key=literal, …)`; undefined when no name with a bracket comes next. A broken call is read to its closing bracket. */
export function readPythonCall(source: TextSource): Scan<PythonCall | undefined> {
  const { at } = source;
  return source.then(source.takeWhile(isName), (name) =>
    source.then(seesBracket(source), (opened) => {
      if (name !== "" && opened) return readBrackets(source, name);
      source.at = at;
      return source.now(undefined);
    }),
  );
}

const seesBracket = (source: TextSource): Scan<boolean> => source.then(source.skipSpace(), () => source.sees("("));

function readBrackets(source: TextSource, name: string): Scan<PythonCall> {
  const from = source.at + 1;
  return source.then(skipBrackets(source), (closed) => {
    const args = closed ? readKeywords(source.text.slice(from, source.at - 1)) : TRUNCATED;
    if (!closed) source.at = source.text.length;
    return source.now<PythonCall>(typeof args === "string" ? { reason: args } : { name, arguments: args });
  });
}

const PYTHON = { python: true };

/** `key=value, …` as an object, or why it is none. */
function readKeywords(text: string): Record<string, unknown> | string {
  const entries: [string, unknown][] = [];
  const written: [string, string][] = [];
  let key = "";
  let at = 0;
  const skip = (belongs: (code: number) => boolean): number => {
    const from = at;
    while (at < text.length && belongs(text.charCodeAt(at))) at += 1;
    return from;
  };
  for (let first = true; ; first = false) {
    skip(isSpace);
    if (at < text.length && !first) {
      if (text[at] !== ",") return `the value of "${key}" is not a literal`;
      at += 1;
      skip(isSpace);
    }
    if (at >= text.length) {
      const args = Object.fromEntries(entries);
      for (const [name, number] of written) noteNumber(args, name, number);
      return args;
    }
    key = text.slice(skip(isWord), at);
    skip(isSpace);
    if (key === "" || text[at] !== "=") return "arguments must be given by name";
    const read = readLiteral(text, at + 1, PYTHON);
    if (!read.ok) return `the value of "${key}" is not a literal`;
    entries.push([key, read.value]);
    if (read.written !== undefined) written.push([key, read.written]);
    at = read.end;
  }
}

const isQuote = (code: number): boolean => code === 34 || code === 39;
const isOpening = (code: number): boolean => code === 40 || code === 91 || code === 123;
const isClosing = (code: number): boolean => code === 41 || code === 93 || code === 125;

/** Goes past the bracket that closes the next one, whatever stands in strings. False: the text ends before. */
function skipBrackets(source: TextSource): Scan<boolean> {
  const depth = passBrackets(source, 0);
  return depth === 0 ? source.now(true) : skipBracketsLater(source, depth);
}

function* skipBracketsLater(source: TextSource, open: number): Scan<boolean> {
  for (let depth = open; depth > 0; depth = passBrackets(source, depth)) {
    const letter = yield* source.peek();
    if (letter === "") return false;
    if (!isQuote(letter.charCodeAt(0))) continue;
    source.at += 1;
    if (!(yield* skipString(source, letter))) return false;
  }
  return true;
}

/** Goes past brackets, to the next quote at most. @returns How many are open: none, once the last is closed. */
function passBrackets(source: TextSource, open: number): number {
  const { text, at: from } = source;
  let depth = open;
  let i = from;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isQuote(code)) break;
    if (isOpening(code)) depth += 1;
    else if (isClosing(code) && --depth === 0) {
      i += 1;
      break;
    }
  }
  source.at = i;
  source.steps += i - from + 1;
  return depth;
}

/** Goes past a string; the source stands after its first quote. */
function* skipString(source: TextSource, quote: string): Scan<boolean> {
  const isPlain = (code: number): boolean => code !== quote.charCodeAt(0) && code !== 92;
  let close = quote;
  if (yield* source.take(quote + quote)) close = quote.repeat(3);
  for (;;) {
    yield* source.takeWhile(isPlain);
    if (yield* source.take(close)) return true;
    const letter = yield* source.peek();
    if (letter === "") return false;
    source.at += 1;
    if (letter === "\\" && !(yield* source.atEnd())) source.at += 1;
  }
}
