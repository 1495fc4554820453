import {
  emitCalls,
  goesOn,
  isSeparator,
  MarkedToolParser,
  Markers,
  standsApart,
  type MarkGuard,
  TRUNCATED,
  type CallItem,
  type Scan,
  type Turn,
} from "verl";
import { isCallHead, readPythonCall, seesPythonCall, skipComment } from "./python-call.ts";

export const [START, END] = ["<|python_start|>", "<|python_end|>"] as const;
/** Llama 3.2 may write it before the bracket. */
export const TAG = "<|python_tag|>";
export const ENDS: readonly string[] = ["<|eom|>", "<|eot|>", "<|eom_id|>", "<|eot_id|>", "<|end_of_text|>"];
/** What ends a list that is not closed. */
const LIST_ENDS = [END, ...ENDS];
/** Where a thing in a list that is no call ends. */
const ITEM_END = new Markers(["]", ",", ...LIST_ENDS], (mark, text, at) => mark !== "," || isCallHead(text, at, true));

/**
 * Calls as Python writes them, in a list: Llama 3.2, and Llama 4 with tags around it. Values are literals of Python or JSON; brackets
 * and quotes in strings count for nothing, and each call of a list fails alone. After other text, a list that names no tool on offer is
 * content: in code, objects are made so. Where no tools are given, a list counts that stands alone on its lines. A tag that stands in a line
 * as a word does, with no call right behind it, is content.
 *
 *     [get_weather(city="Oslo", days=-1), get_time(zones=["UTC", None])]
 *     <|python_start|>[get_weather(city="Oslo")]<|python_end|>
 */
export class PythonicToolParser extends MarkedToolParser {
  protected readonly opens = [START, END, TAG, "["];
  protected override readonly ends = ENDS;
  protected override readonly guard: MarkGuard = seesName;

  protected override skips(open: string, { source, out }: Turn): number {
    if (open !== "[") return 0;
    const isNone = source.resultOf(seesPythonCall(source, source.at + 1, out.isBlank)) === false;
    return isNone || !(out.isBlank || out.mayGuess) ? open.length : 0;
  }

  protected read(open: string, turn: Turn, from: number): Scan<boolean> {
    const { source, out } = turn;
    if (open === END) return source.then(standsApart(turn), (apart) => source.now(!apart));
    if (open === START) return this.readList(turn, from, true);
    if (open === TAG) return this.readTagged(turn, from);
    if (!out.knowsTools && !out.startsLine) return source.now(false);
    return source.then(seesPythonCall(source, source.at, out.isBlank), (seen) =>
      seen ? this.readList(turn, from, false) : source.now(false),
    );
  }

  /** Reads a list after a tag that stands before other things as well. */
  private *readTagged(turn: Turn, from: number): Scan<boolean> {
    const { source } = turn;
    yield* source.skipSpace();
    if (!(yield* source.take("[")) || !(yield* seesPythonCall(source, source.at, true))) return false;
    return yield* this.readList(turn, from, false);
  }

  /** Reads calls after a tag, where the bracket of the list may be missing, or after a bracket. */
  protected *readList(turn: Turn, from: number, tagged: boolean): Scan<boolean> {
    const { source, out } = turn;
    const apart = tagged && (yield* standsApart(turn));
    if (tagged) yield* source.skipSpace();
    const inList = !tagged || (yield* source.take("[")) !== undefined;
    if (apart && !(yield* seesPythonCall(source, source.at, inList))) return false;
    const items: CallItem[] = [];
    let cut = !inList;
    for (;;) {
      const start = source.at;
      yield* source.skipWhile(isSeparator);
      while (inList && (yield* source.sees("#"))) {
        yield* skipComment(source, ENDS);
        yield* source.skipWhile(isSeparator);
      }
      if (inList && (yield* source.take("]"))) break;
      const callFrom = source.at;
      if (items.length >= out.room) {
        cut = true;
        break;
      }
      const found = yield* readPythonCall(source, ENDS);
      if (found) {
        items.push({ found, from: callFrom, to: source.at });
        continue;
      }
      if (inList && !(yield* source.atEnd()) && !(yield* source.seesAny(LIST_ENDS))) {
        const hit = yield* source.until(ITEM_END);
        if (hit === "]") source.at += 1;
        items.push({ found: { reason: "not a call" }, from: callFrom, to: source.at });
        if (hit === ",") continue;
        cut = hit !== "]";
        break;
      }
      cut = true;
      if (!inList) source.at = start;
      break;
    }
    const isBare = source.text[from] === "[" && !out.afterCall;
    if (isBare && (yield* this.isData(items, turn))) out.lookalike(source.text.slice(from, source.at));
    else if (items.length > 0) emitCalls(turn, from, items, cut);
    else out.error(source.text.slice(from, source.at), (yield* source.atEnd()) ? TRUNCATED : "the tag holds no call");
    return true;
  }

  /** Whether a list that was read is none of calls. Where nothing says which tools there are, it must stand alone on its lines. */
  private isData(items: readonly CallItem[], turn: Turn): Scan<boolean> {
    const { source, out } = turn;
    if (out.knowsTools) return source.now(!out.isBlank && isCode(items, turn));
    return source.then(source.sees("["), (another) => (another ? source.now(false) : goesOn(source)));
  }
}

/** Whether none of the tools on offer is meant. A list that the end of the answer cuts off may have meant one behind. */
const isCode = (items: readonly CallItem[], { out }: Turn): boolean =>
  items.every(
    ({ found }) => !("reason" in found ? found.reason === TRUNCATED || out.knows(found.tool) : out.knows(found.name)),
  );

/** A bracket that no name with a bracket of its own follows starts no call. */
export function seesName(mark: string, text: string, at: number): boolean | undefined {
  return mark !== "[" || isCallHead(text, at, true);
}
