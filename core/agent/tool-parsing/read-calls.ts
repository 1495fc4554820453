import { TOO_MANY, TRUNCATED, type FoundCall } from "./answer-writer.ts";
import {
  looksLikeCall,
  messageOf,
  NOT_AN_OBJECT,
  readArguments,
  readBareArguments,
  readCallObject,
  type CallObject,
} from "./call-object.ts";
import { isWord } from "./literal.ts";
import type { Markers } from "./markers.ts";
import { goesOn, isBlank, isClosingMention } from "./mention.ts";
import { parseJson } from "./parse-json.ts";
import { shareMessage } from "./message-text.ts";
import { NOT_JSON, peekJson, readJson } from "./read-json.ts";
import type { Turn } from "./streaming-parser.ts";
import { isSeparator, letterFrom, type Scan, type TextSource } from "./text-source.ts";

/** A call that was read, or why there is none, and where it stands: no other item has text of it. */
export interface CallItem {
  found: CallObject;
  /** Only a call can look so. */
  sure?: boolean;
  /** No call is meant: the text is content. */
  isData?: boolean;
  from: number;
  to: number;
  /** What the message with the call says before it, or behind it. */
  before?: string;
  behind?: string;
}

const FENCE = "```";
const OPENINGS = ["{", "["];

/** Reads the opening line of a code block. */
export function takeFence(source: TextSource): Scan<boolean> {
  return source.then(source.take(FENCE), (fence) => (fence ? skipFenceLine(source) : source.now(false)));
}

function* skipFenceLine(source: TextSource): Scan<boolean> {
  yield* source.skipWhile(isWord);
  yield* source.skipSpace();
  return true;
}

/**
 * Reads calls that JSON objects stand for: one, several with `,` `;` or white space between, or a list. Each fails alone. A message that
 * holds calls stands for them, and what it says is content.
 * @param boundaries Texts that a broken object may reach to at most.
 * @returns Whether something was missing.
 */
export function* readCallObjects({ source, out }: Turn, boundaries: Markers, items: CallItem[]): Scan<boolean> {
  const inList = (yield* source.take("[")) !== undefined;
  for (;;) {
    const end = source.at;
    yield* source.skipWhile(isSeparator);
    if (inList && (yield* source.take("]"))) return false;
    const from = source.at;
    if (
      items.length >= out.room ||
      !(yield* source.sees("{")) ||
      (!inList && items.length > 0 && !(yield* seesObject(source)))
    ) {
      source.at = end;
      return inList;
    }
    const read = yield* readJson(source, boundaries);
    if (!read.ok) {
      items.push({ found: read, from, to: source.at });
      continue;
    }
    const message = messageOf(read.value);
    const first = items.length;
    for (const value of message?.calls ?? [read.value]) {
      const found: CallObject = items.length >= out.room ? { reason: TOO_MANY } : readCallObject(value);
      if ("name" in found && read.repaired) found.repaired = true;
      items.push({ found, sure: message !== undefined || looksLikeCall(value), from, to: source.at });
      if ("reason" in found && found.reason === TOO_MANY) break;
    }
    if (message !== undefined) shareMessage(source.text, items.slice(first), message);
  }
}

/** Whether an object with keys comes next, not a brace in prose. */
function seesObject(source: TextSource): Scan<boolean> {
  const next = letterFrom(source.text, source.at + 1);
  return next ? source.now(next === '"' || next === "'") : seesObjectLater(source);
}

function* seesObjectLater(source: TextSource): Scan<boolean> {
  const { at } = source;
  source.at += 1;
  yield* source.skipSpace();
  const next = yield* source.peek();
  source.at = at;
  return next === '"' || next === "'";
}

/**
 * Hands over what was read, in its order.
 * @param from Where the first of them starts, with the marks before it.
 * @param repaired The text around the calls broke the format.
 * @param end Where the last of them ends, with the marks behind it. Default: where the source stands.
 */
export function emitCalls(
  { source, out }: Turn,
  from: number,
  items: readonly CallItem[],
  repaired: boolean,
  end = source.at,
): void {
  const last = items.length - 1;
  for (let i = 0; i <= last; i++) {
    const { found, isData, before, behind, from: start, to } = items[i]!;
    if (isData) {
      out.content(source.text.slice(start, to));
      continue;
    }
    if (before !== undefined) out.content(before);
    const isFirst = i === 0 && before === undefined;
    const isLast = i === last && behind === undefined;
    const raw = source.text.slice(isFirst ? from : start, isLast ? end : to);
    if ("reason" in found) out.error(raw, found.reason);
    else out.call(raw, found, found.repaired || repaired);
    if (behind !== undefined) out.content(behind);
  }
}

export interface TagSyntax {
  open: string;
  close: string;
  /** Both of them, and what else shows that a call is over. */
  boundaries: Markers;
}

/**
 * Reads the inside of `open … close` as JSON calls. Read leniently: doubled tags, code fences, several objects, brackets too few or
 * too many, a missing closing tag.
 */
export function* readTaggedJson(turn: Turn, from: number, syntax: TagSyntax): Scan<boolean> {
  const { source, out } = turn;
  const { open, close, boundaries } = syntax;
  yield* source.skipSpace();
  let repaired = false;
  if (yield* source.take(open)) {
    repaired = true;
    yield* source.skipSpace();
  }
  if (yield* takeFence(source)) repaired = true;
  if (!(yield* source.seesAny(["{", "["]))) return yield* readNoJson(turn, from, syntax);

  const items: CallItem[] = [];
  if (yield* readCallObjects(turn, boundaries, items)) repaired = true;
  if (items.length === 0) items.push({ found: { reason: NOT_JSON }, from, to: source.at });
  yield* source.skipSpace();
  while (yield* source.take("}", "]", FENCE)) {
    repaired = true;
    yield* source.skipSpace();
  }
  const end = source.at;
  const closed = (yield* source.take(close)) !== undefined;
  emitCalls(turn, from, items, repaired || items.length > 1 || !closed);
  if (!closed && (yield* source.until(boundaries)) === close) {
    out.content(source.text.slice(end, source.at));
    source.at += close.length;
    out.afterCall = true;
  } else if (!closed) {
    source.at = end;
  }
  return true;
}

/** A tag with something else than JSON in it: an error, unless it is prose that only mentions the tag. */
function* readNoJson({ source, out }: Turn, from: number, { open, close, boundaries }: TagSyntax): Scan<boolean> {
  const start = source.at;
  const hit = yield* source.until(boundaries);
  const body = source.text.slice(start, source.at).trim();
  if (hit === close) {
    source.at += close.length;
    const isApart = isBlank(source.text.charCodeAt(from + open.length));
    if (isApart && body !== "" && !/["{[]/.test(body) && (yield* goesOn(source))) return false;
  } else if (body !== "" && !/["{[]/.test(body)) return false;
  out.error(source.text.slice(from, source.at), hit === undefined && body === "" ? TRUNCATED : NOT_JSON);
  return true;
}

export interface ArgumentsSyntax {
  /** Texts that end the call; none where its last bracket does. */
  closes: readonly string[];
  /** The same, and whatever else shows that a broken call is over. */
  boundaries: Markers;
  /** The end of the answer closes a call as well: its closing token is where generation stops. Default: false. */
  endCloses?: boolean;
  /** Whether arguments stand in a code block; undefined: either way. */
  fenced?: boolean;
}

/** Reads the arguments of a call whose name is known, to the end of the call. */
export function* readArgumentsCall(
  turn: Turn,
  from: number,
  call: Omit<FoundCall, "arguments">,
  { closes, boundaries, fenced, endCloses = false }: ArgumentsSyntax,
): Scan {
  const { source, out } = turn;
  const fail = (reason: string): void => out.error(source.text.slice(from, source.at), reason);
  yield* source.skipSpace();
  const opened = yield* source.seesAny(OPENINGS);
  const fence = opened === undefined && (yield* takeFence(source));
  let repaired = call.repaired === true || (fenced !== undefined && fence !== fenced);

  let value: unknown;
  if (opened ?? (fence && (yield* source.seesAny(OPENINGS)))) {
    const read = yield* readJson(source, boundaries);
    if (!read.ok) {
      yield* source.take(...closes);
      return fail(read.reason);
    }
    value = read.value;
    repaired ||= read.repaired;
  } else if ((value = yield* readEncodedObject(source)) === undefined && !(yield* source.seesAny(closes))) {
    const start = source.at;
    const hit = yield* source.until(boundaries);
    let bare = source.text.slice(start, source.at).trim();
    if (fence && bare.endsWith(FENCE)) bare = bare.slice(0, -FENCE.length).trim();
    value = readBareArguments(bare);
    if (value === undefined) {
      yield* source.take(...closes);
      return fail(bare !== "" ? NOT_AN_OBJECT : hit === undefined ? TRUNCATED : "the call has no arguments");
    }
  }

  yield* source.skipSpace();
  for (let more = closes.length > 0; more;) {
    const word = yield* source.take("}", FENCE);
    more = word !== undefined;
    if (word === "}" || (more && !fence)) repaired = true;
    yield* source.skipSpace();
  }
  const end = source.at;
  const closed =
    closes.length === 0 || (yield* source.take(...closes)) !== undefined || (endCloses && (yield* source.atEnd()));
  const read = readArguments(value);
  const raw = source.text.slice(from, source.at);
  if ("reason" in read) out.error(raw, read.reason);
  else {
    const found: FoundCall = { name: call.name, arguments: read.arguments };
    if (call.id !== undefined) found.id = call.id;
    out.call(raw, found, repaired || read.repaired || !closed);
  }
  if (closed) return;
  const hit = yield* source.until(boundaries);
  if (hit !== undefined && closes.includes(hit)) {
    const rest = source.text.slice(end, source.at);
    source.at += hit.length;
    if (rest.startsWith("{")) out.error(rest + hit, "a second object of arguments: each call needs a name of its own");
    else out.content(rest);
    out.afterCall = true;
  } else {
    source.at = end;
  }
}

/** Reads the JSON string that comes next and holds an object, whatever marks stand in it; undefined, and nothing is read, when none does. */
function* readEncodedObject(source: TextSource): Scan<string | undefined> {
  if (!(yield* source.sees('"'))) return undefined;
  const text = yield* peekJson(source);
  const value = text === undefined ? undefined : parseJson(text);
  if (typeof value !== "string" || !value.trimStart().startsWith("{")) return undefined;
  source.at += text!.length;
  return value;
}

/** A closing token outside a call: part of the call before it, or an error. */
export function strayClose({ source, out }: Turn, from: number): void {
  if (!out.afterCall) out.error(source.text.slice(from, source.at), "a closing tag without a call");
}

/** A closing tag outside a call: as `strayClose`, unless it is prose that only mentions the tag. */
export function* readStrayClose(turn: Turn, from: number): Scan<boolean> {
  const { out } = turn;
  if (!out.afterCall && (yield* isClosingMention(turn))) return false;
  strayClose(turn, from);
  return true;
}
