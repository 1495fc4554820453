import {
  emitCalls,
  isWord,
  letterFrom,
  looksLikeCall,
  MarkedToolParser,
  Markers,
  readCallObjects,
  takeFence,
  TRUNCATED,
  type CallItem,
  type Scan,
  type TextSource,
  type Turn,
} from "verl";

const FENCE = "```";
/** Letters of a code block's language. */
const MAX_LANGUAGE = 16;
const BOUNDARIES = new Markers(["\n{", "\n[", "; {", ";{", ', {"name"', ',{"name"', FENCE, "<|python_tag|>"]);
const FIRST_KEYS = ["name", "function", "type", "id", "arguments", "parameters"].map((key) => `"${key}"`);

/**
 * Calls as plain JSON: alone, in a list, in a code block, around prose. An object counts as a call when it has a name and `arguments`
 * (or `parameters`), or the name of a tool on offer; other JSON is content.
 *
 *     {"name": "get_weather", "arguments": {"city": "Oslo"}}
 */
export class JsonToolParser extends MarkedToolParser {
  protected readonly opens: readonly string[] = [FENCE, "{", "["];
  protected override readonly ends: readonly string[] = ["<|im_end|>", "<|eot_id|>", "<|endoftext|>", "</s>"];
  protected override readonly guard = seesObject;

  protected *read(open: string, turn: Turn, from: number): Scan<boolean> {
    const { source, out } = turn;
    source.at = from;
    const fenced = open === FENCE && (yield* takeFence(source));
    if (!(yield* seesCall(source))) return false;

    const items: CallItem[] = [];
    const cut = yield* readCallObjects(source, BOUNDARIES, items);
    const calls = items.filter((item) => isCall(item, turn));
    if (calls.length === 0) {
      out.content(source.text.slice(from, source.at));
      return true;
    }
    for (const item of items) if (!calls.includes(item)) out.content(source.text.slice(item.from, item.to));
    if (fenced) yield* closeFence(source);
    emitCalls(turn, from, calls, cut);
    return true;
  }
}

/** A brace that no key follows starts no call, nor does a bracket or a code block that no object follows. */
function seesObject(mark: string, text: string, at: number): boolean | undefined {
  let from = at;
  if (mark === FENCE) while (from < at + MAX_LANGUAGE && isWord(text.charCodeAt(from))) from += 1;
  else if (mark !== "{" && mark !== "[") return true;
  const next = letterFrom(text, from);
  if (next === undefined) return undefined;
  return mark === "{" ? next === '"' : next === "{" || (mark === FENCE && next === "[");
}

/** Whether an object comes next, or a list of them, whose first key is one of a call. */
function* seesCall(source: TextSource): Scan<boolean> {
  const { at } = source;
  if (yield* source.take("[")) yield* source.skipSpace();
  const opened = yield* source.take("{");
  if (opened) yield* source.skipSpace();
  const seen = opened !== undefined && (yield* source.seesAny(FIRST_KEYS)) !== undefined;
  source.at = at;
  return seen;
}

/** Also true of what is none but says that it should be: it is then an error. */
function isCall({ found, value, from, to }: CallItem, { source, out }: Turn): boolean {
  if (looksLikeCall(value) || ("name" in found && out.knows(found.name))) return true;
  const text = source.text.slice(from, to);
  const cut = "reason" in found && found.reason === TRUNCATED;
  return "reason" in found && /"(?:name|function)"/.test(text) && (cut || /"(?:arguments|parameters)"/.test(text));
}

function* closeFence(source: TextSource): Scan {
  const { at } = source;
  yield* source.skipSpace();
  if (!(yield* source.take(FENCE))) source.at = at;
}
