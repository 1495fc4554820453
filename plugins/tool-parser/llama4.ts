import {
  emitCalls,
  Markers,
  readCallObjects,
  standsApart,
  type CallItem,
  type MarkGuard,
  type Scan,
  type TextSource,
  type Turn,
} from "verl";
import { JSON_OPENS, jsonBoundaries, readBareJson, skipsBareJson } from "./bare-json.ts";
import { seesObject } from "./json.ts";
import { seesPythonCall } from "./python-call.ts";
import { END, ENDS, PythonicToolParser, seesName, START, TAG } from "./pythonic.ts";

const BOUNDARIES = new Markers([START, END, '}{"', "\n{", "; {", ";{", ...ENDS]);
const BARE = jsonBoundaries(ENDS);
const TAGS = new Markers([START, END, ...ENDS]);
const QUOTES = ['"', "'", "“", "”", "‘", "’"];

/**
 * Llama 4: Python calls between tags, or JSON objects with `parameters`, bare or between the tags. The model's own chat template puts what
 * is said between the tags, and the JSON after them.
 *
 *     <|python_start|>[get_weather(city="Oslo")]<|python_end|>
 *     <|python_start|>Oslo, then.<|python_end|>{"name": "get_weather", "parameters": {"city": "Oslo"}}<|eot|>
 */
export class Llama4ToolParser extends PythonicToolParser {
  protected override readonly opens = [START, END, TAG, ...JSON_OPENS];
  protected override readonly guard: MarkGuard = seesCall;

  protected override skips(open: string, turn: Turn): number {
    if (open === START || open === END || open === TAG) return 0;
    return isPython(open, turn.source, turn.source.at + open.length)
      ? super.skips(open, turn)
      : skipsBareJson(open, turn);
  }

  protected override read(open: string, turn: Turn, from: number): Scan<boolean> {
    const { source } = turn;
    if (open === START) return this.readTag(turn, from);
    if (open === END) return this.readAfterTag(turn);
    return open === TAG || isPython(open, source, source.at)
      ? super.read(open, turn, from)
      : readBareJson(open, turn, from, BARE);
  }

  private *readAfterTag(turn: Turn): Scan<boolean> {
    const apart = yield* standsApart(turn);
    return (yield* this.readObjects(turn, turn.source.at)) || !apart;
  }

  private *readTag(turn: Turn, from: number): Scan<boolean> {
    const { source } = turn;
    if (yield* this.readObjects(turn, from)) return true;
    const start = source.at;
    yield* source.skipSpace();
    yield* source.take("[");
    const python = yield* seesPythonCall(source, source.at, true);
    source.at = start;
    if (!python && (yield* source.until(TAGS)) === END) {
      const said = source.text.slice(start, source.at);
      source.at += END.length;
      if (yield* this.readObjects(turn, source.at, said)) return true;
    }
    source.at = start;
    return yield* this.readList(turn, from, true);
  }

  /** Reads the JSON calls that come next; false, and nothing is read, when there are none. @param said What goes before them. */
  private *readObjects(turn: Turn, from: number, said = ""): Scan<boolean> {
    const { source, out } = turn;
    const { at } = source;
    yield* source.skipSpace();
    const start = source.at;
    if (yield* source.take("[")) yield* source.skipSpace();
    const opened = yield* source.take("{");
    if (opened) yield* source.skipSpace();
    const seen = opened !== undefined && (yield* source.seesAny(QUOTES)) !== undefined;
    source.at = seen ? start : at;
    if (!seen) return false;
    out.content(said);
    const items: CallItem[] = [];
    const cut = yield* readCallObjects(turn, BOUNDARIES, items);
    emitCalls(turn, from, items, cut);
    return true;
  }
}

/** Whether a Python call may follow a bracket. */
const isPython = (open: string, { text }: TextSource, at: number): boolean =>
  open === "[" && seesName(open, text, at) === true;

/** A bracket counts where an object with a key follows, or a name with arguments. */
function seesCall(mark: string, text: string, at: number): boolean | undefined {
  const json = seesObject(mark, text, at);
  if (mark !== "[" || json) return json;
  const python = seesName(mark, text, at);
  return python === false ? json : python;
}
