import {
  DEFINITION,
  emitCalls,
  looksLikeCall,
  Markers,
  messageOf,
  parseJson,
  peekJson,
  readCallObjects,
  takeFence,
  TRUNCATED,
  type CallItem,
  type Scan,
  type TextSource,
  type Turn,
} from "verl";
import { headOf } from "./json-head.ts";

const FENCE = "```";
const BEHIND = ["\n{", "\n[", "; {", ";{", ', {"name"', ',{"name"', FENCE, "<|python_tag|>", "<|python_start|>"];
/** What a broken call reaches to at most. @param others What else a format has: marks of calls, ends of turns. */
export const jsonBoundaries = (others: readonly string[]): Markers => new Markers([...BEHIND, ...others]);
const NAME = /["'“”‘’](?:name|function)["'“”‘’]/;
const ARGUMENTS = /["'“”‘’](?:arguments|parameters)["'“”‘’]/;

/** What `readBareJson` may start at. */
export const JSON_OPENS: readonly string[] = [FENCE, "{", "["];

/** How many letters from `open` on start no call, where that can be told at once; 0: they may start one. */
export function skipsBareJson(open: string, turn: Turn): number {
  const { source, out } = turn;
  if (!out.mayGuess) return open.length;
  if (open === FENCE || headOf(open, source.text, source.at + open.length) === "usual") return 0;
  return source.resultOf(peekNoCall(open, turn)) ?? 0;
}

/**
 * Reads calls that stand as JSON in an answer: alone, in a list, or in a code block. An object counts as a call when it has a name and
 * `arguments` (or `parameters`), or the name of a tool on offer; other JSON is content as a whole, whatever objects are in it. The source
 * stands right after `open`.
 * @param boundaries What a broken call reaches to at most.
 * @returns False when no call starts there.
 */
export function* readBareJson(open: string, turn: Turn, from: number, boundaries: Markers): Scan<boolean> {
  const { source, out } = turn;
  const head = headOf(open, source.text, source.at);
  source.at = from;
  const fenced = open === FENCE && (yield* takeFence(source));
  if (head !== "usual") {
    const length = yield* peekNoCall(open, turn);
    if (length > 0 && (fenced || length === open.length)) return false;
    if (length > 0) {
      source.at += length;
      out.content(source.text.slice(from, source.at));
      return true;
    }
  }

  const items: CallItem[] = [];
  const cut = yield* readCallObjects(turn, boundaries, items);
  for (const item of items) item.isData = !isCall(item, turn);
  if (items.every(({ isData }) => isData)) {
    out.lookalike(source.text.slice(from, source.at));
    return true;
  }
  if (fenced) yield* closeFence(source);
  emitCalls(turn, from, items, cut);
  return true;
}

/** How many letters are no call, of what comes next with another first key than calls usually have: JSON as a whole, or the mark alone. */
const peekNoCall = (open: string, { source }: Turn): Scan<number> =>
  source.then(peekJson(source), (text) =>
    source.now(text === undefined ? open.length : isCallText(text) ? 0 : text.length),
  );

function isCallText(text: string): boolean {
  if (!NAME.test(text)) return false;
  const value = parseJson(text);
  const isCalls = (one: unknown): boolean => looksLikeCall(one) || messageOf(one) !== undefined;
  return Array.isArray(value) ? value.some(isCalls) : isCalls(value);
}

/** Also true of what is none but says that it should be: it is then an error. */
export function isCall({ found, sure, from, to }: CallItem, { source, out }: Turn): boolean {
  if (sure || ("name" in found && out.knows(found.name))) return true;
  if ("name" in found || found.reason === DEFINITION) return false;
  if (found.tool !== undefined && out.knows(found.tool)) return true;
  const text = source.text.slice(from, to);
  return NAME.test(text) && (found.reason === TRUNCATED || ARGUMENTS.test(text));
}

function* closeFence(source: TextSource): Scan {
  const { at } = source;
  yield* source.skipSpace();
  if (!(yield* source.take(FENCE))) source.at = at;
}
