import { isSpace, isWord, noteNumber, readLiteral, TRUNCATED, type Scan, type TextSource } from "verl";

export type PythonCall = { name: string; arguments: Record<string, unknown> } | { reason: string; tool: string };

/** Letters of tool names: those of Python, and what other languages add. */
export const isName = (code: number): boolean => isWord(code) || code === 45 || code === 46;

/** White space in one place, and letters of a name, that are looked past at most. */
const [MAX_SPACE, MAX_NAME] = [64, 256];

/**
 * Whether `name(key=` or `name()` stands at a place, white space allowed. It is asked for every bracket of an answer, so it makes nothing.
 * @param anyArguments `name(` will do.
 * @returns Undefined: the text ends before that is clear.
 */
export function isCallHead(text: string, at: number, anyArguments: boolean): boolean | undefined {
  const name = past(isSpace, text, at, MAX_SPACE);
  const nameEnd = past(isName, text, name, MAX_NAME);
  const bracket = past(isSpace, text, nameEnd, MAX_SPACE);
  if (nameEnd === text.length || (nameEnd > name && bracket === text.length)) return undefined;
  if (nameEnd === name || text[bracket] !== "(") return false;
  if (anyArguments) return true;
  const key = past(isSpace, text, bracket + 1, MAX_SPACE);
  const keyEnd = past(isWord, text, key, MAX_NAME);
  const equals = past(isSpace, text, keyEnd, MAX_SPACE);
  if (equals === text.length) return undefined;
  return text[equals] === (keyEnd === key ? ")" : "=");
}

/** Where letters that belong end. */
function past(belongs: (code: number) => boolean, text: string, at: number, most: number): number {
  const end = Math.min(at + most, text.length);
  let i = at;
  while (i < end && belongs(text.charCodeAt(i))) i += 1;
  return i;
}

/** Likewise, where more text may come; nothing is read. */
export function seesPythonCall(source: TextSource, at: number, anyArguments: boolean): Scan<boolean> {
  const seen = isCallHead(source.text, at, anyArguments);
  return seen === undefined ? seesLater(source, at, anyArguments) : source.now(seen);
}

function* seesLater(source: TextSource, at: number, anyArguments: boolean): Scan<boolean> {
  let seen: boolean | undefined;
  while ((seen = isCallHead(source.text, at, anyArguments)) === undefined && (yield* source.more()));
  return seen === true;
}

/**
 * Reads `name(key=literal, …)`; undefined when no name with a bracket comes next. A broken call is read to its closing bracket.
 * @param ends Tokens that end the turn: a broken call reaches no further.
 */
export function readPythonCall(source: TextSource, ends: readonly string[]): Scan<PythonCall | undefined> {
  const { at } = source;
  return source.then(source.takeWhile(isName), (name) =>
    source.then(seesBracket(source), (opened) => {
      if (name !== "" && opened) return readBrackets(source, name, ends);
      source.at = at;
      return source.now(undefined);
    }),
  );
}

const seesBracket = (source: TextSource): Scan<boolean> => source.then(source.skipSpace(), () => source.sees("("));

function readBrackets(source: TextSource, name: string, ends: readonly string[]): Scan<PythonCall> {
  const from = source.at + 1;
  return source.then(skipBrackets(source, ends), (closed) => {
    const args = closed ? readKeywords(source.text.slice(from, source.at - 1)) : TRUNCATED;
    if (typeof args !== "string") return source.now<PythonCall>({ name, arguments: args });
    backToEnd(source, from, ends);
    return source.now<PythonCall>({ reason: args, tool: name });
  });
}

/**
 * A token that ends the turn may stand in a string, but ends a call that is broken. What has been looked through behind it is read again; an
 * answer in which that is much is no slip.
 */
function backToEnd(source: TextSource, from: number, ends: readonly string[]): void {
  const body = source.text.slice(from, source.at);
  source.steps += body.length;
  let at = body.indexOf(OPENS_END);
  while (at >= 0 && !ends.some((end) => body.startsWith(end, at))) at = body.indexOf(OPENS_END, at + 1);
  if (at < 0 || source.repairLeft <= 0) return;
  source.repairLeft -= body.length - at;
  source.at = from + at;
}

const PYTHON = { python: true };

/** `key=value, …` as an object, or why it is none. */
function readKeywords(text: string): Record<string, unknown> | string {
  const entries: [string, unknown][] = [];
  const written: [string, string | undefined][] = [];
  let key = "";
  let at = 0;
  const skip = (belongs: (code: number) => boolean): number => {
    const from = at;
    while (at < text.length && belongs(text.charCodeAt(at))) at += 1;
    return from;
  };
  const skipLayout = (): void => {
    for (skip(isSpace); text[at] === "#"; skip(isSpace)) skip(isInLine);
  };
  for (let first = true; ; first = false) {
    skipLayout();
    if (at < text.length && !first) {
      if (text[at] !== ",") return `the value of "${key}" is not a literal`;
      at += 1;
      skipLayout();
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
    written.push([key, read.written]);
    at = read.end;
  }
}

/** What all tokens that end a turn start with. */
const OPENS_END = "<|";
const [LESS, BAR] = [60, 124];
/** What belongs to a comment that has begun, and what of it cannot end the turn. */
const isInLine = (code: number): boolean => code !== 10;
const isPlain = (code: number): boolean => isInLine(code) && code !== LESS;
/** Goes to the end of the line, or of the turn. */
export function* skipComment(source: TextSource, ends: readonly string[]): Scan {
  for (; ; source.at += 1) {
    yield* source.skipWhile(isPlain);
    if (!(yield* source.sees("<")) || (yield* source.seesAny(ends))) return;
  }
}

/** A comment has something before it that ends a word; in `color=#fff` a quote was left out. */
const startsComment = (text: string, at: number): boolean => {
  const before = text.charCodeAt(at - 1);
  return isSpace(before) || before === 44 || isOpening(before);
};
const isQuote = (code: number): boolean => code === 34 || code === 39;
const isOpening = (code: number): boolean => code === 40 || code === 91 || code === 123;
const isClosing = (code: number): boolean => code === 41 || code === 93 || code === 125;

/** Goes past the bracket that closes the next one, whatever stands in strings. False: the text or the turn ends before. */
function skipBrackets(source: TextSource, ends: readonly string[]): Scan<boolean> {
  const depth = passBrackets(source, 0);
  return depth === 0 ? source.now(true) : skipBracketsLater(source, depth, ends);
}

function* skipBracketsLater(source: TextSource, open: number, ends: readonly string[]): Scan<boolean> {
  for (let depth = open; depth > 0; depth = passBrackets(source, depth)) {
    const letter = yield* source.peek();
    if (letter === "") return false;
    if (letter === "#") {
      if (startsComment(source.text, source.at)) yield* skipComment(source, ends);
      else source.at += 1;
    } else if (letter === "<") {
      if (yield* source.seesAny(ends)) return false;
      source.at += 1;
    }
    if (!isQuote(letter.charCodeAt(0))) continue;
    source.at += 1;
    if (!(yield* skipString(source, letter))) return false;
  }
  return true;
}

/** Goes past brackets, to the next quote, `#` or `<|` at most. @returns How many are open: none, once the last is closed. */
function passBrackets(source: TextSource, open: number): number {
  const { text, at: from } = source;
  let depth = open;
  let i = from;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (isQuote(code) || code === 35 || (code === LESS && mayEnd(text, i))) break;
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

/** Whether the token that `<` at `at` starts may be one that ends a turn, by the next letter, which may still be to come. */
const mayEnd = (text: string, at: number): boolean => at + 1 === text.length || text.charCodeAt(at + 1) === BAR;

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
