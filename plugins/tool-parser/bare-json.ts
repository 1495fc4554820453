import {
  emitCalls,
  looksLikeCall,
  Markers,
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
const BOUNDARIES = new Markers([
  "\n{",
  "\n[",
  "; {",
  ";{",
  ', {"name"',
  ',{"name"',
  FENCE,
  "<|python_tag|>",
  "<|python_start|>",
]);
const NAME = /["'“”‘’](?:name|function)["'“”‘’]/;
const ARGUMENTS = /["'“”‘’](?:arguments|parameters)["'“”‘’]/;

/** What `readBareJson` may start at. */
export const JSON_OPENS: readonly string[] = [FENCE, "{", "["];

/**
 * Values that look like calls and are none that are read of one answer: an answer of 128 thousand tokens may list as many. What stands
 * behind them is content.
 */
const MAX_LOOKALIKES = 8192;

/** Whether no call starts at `open`, where that can be told at once. */
export function refusesBareJson(open: string, { source, out }: Turn): boolean {
  if (out.lookalikes >= MAX_LOOKALIKES) return true;
  if (open === FENCE || headOf(open, source.text, source.at + open.length) === "usual") return false;
  return source.isRefusal(seesCall(source));
}

/**
 * Reads calls that stand as JSON in an answer: alone, in a list, or in a code block. An object counts as a call when it has a name and
 * `arguments` (or `parameters`), or the name of a tool on offer; other JSON is content. The source stands right after `open`.
 * @returns False when no call starts there.
 */
export function* readBareJson(open: string, turn: Turn, from: number): Scan<boolean> {
  const { source, out } = turn;
  const head = headOf(open, source.text, source.at);
  source.at = from;
  const fenced = open === FENCE && (yield* takeFence(source));
  if (head !== "usual" && !(yield* seesCall(source))) return false;

  const items: CallItem[] = [];
  const cut = yield* readCallObjects(turn, BOUNDARIES, items);
  const calls: CallItem[] = [];
  const others: CallItem[] = [];
  for (const item of items) (isCall(item, turn) ? calls : others).push(item);
  if (calls.length === 0) {
    out.lookalikes += 1;
    out.content(source.text.slice(from, source.at));
    return true;
  }
  for (const { from: start, to } of others) out.content(source.text.slice(start, to));
  if (fenced) yield* closeFence(source);
  emitCalls(turn, from, calls, cut);
  return true;
}

/** Whether a call comes next, or a list with one, whose first key is none that calls usually have there. */
const seesCall = (source: TextSource): Scan<boolean> =>
  source.then(peekJson(source), (text) => source.now(text !== undefined && isCallText(text)));

function isCallText(text: string): boolean {
  if (!NAME.test(text)) return false;
  const value = parseJson(text);
  return Array.isArray(value) ? value.some(looksLikeCall) : looksLikeCall(value);
}

/** Also true of what is none but says that it should be: it is then an error. */
function isCall({ found, sure, from, to }: CallItem, { source, out }: Turn): boolean {
  if (sure || ("name" in found && out.knows(found.name))) return true;
  if ("name" in found) return false;
  if (found.tool !== undefined && out.knows(found.tool)) return true;
  const text = source.text.slice(from, to);
  return NAME.test(text) && (found.reason === TRUNCATED || ARGUMENTS.test(text));
}

function* closeFence(source: TextSource): Scan {
  const { at } = source;
  yield* source.skipSpace();
  if (!(yield* source.take(FENCE))) source.at = at;
}
