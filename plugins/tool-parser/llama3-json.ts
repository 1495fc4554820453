import {
  emitCalls,
  Markers,
  readArgumentsCall,
  readCallObjects,
  standsApart,
  type CallItem,
  type Scan,
  type Turn,
} from "verl";
import { JSON_OPENS, jsonBoundaries } from "./bare-json.ts";
import { JsonToolParser } from "./json.ts";
import { isName, readPythonCall, seesPythonCall } from "./python-call.ts";

const TAG = "<|python_tag|>";
const [FUNCTION, FUNCTION_END] = ["<function=", "</function>"] as const;
const ENDS = ["<|eom_id|>", "<|eot_id|>", "<|end_of_text|>"];
const BOUNDARIES = new Markers([TAG, "\n{", "; {", ";{", ";\n{", ...ENDS]);
const ARGUMENTS = {
  closes: [FUNCTION_END],
  boundaries: new Markers([FUNCTION, FUNCTION_END, TAG, ...ENDS]),
  endCloses: true,
};

/**
 * Llama 3: JSON objects with `parameters`, after a tag or bare; several with `;` or a line break between them. The built-in tools of
 * 3.1 are written as `NAME.call(key="value")`, and tools of one's own in tags as well. A tag that stands in a line as a word does, with
 * neither JSON nor a call of Python behind it, is content.
 *
 *     <|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}; {"name": "get_time", "parameters": {}}
 *     {"name": "get_weather", "parameters": {"city": "Oslo"}}
 *     <function=get_weather>{"city": "Oslo"}</function>
 */
export class Llama3JsonToolParser extends JsonToolParser {
  protected override readonly opens = [TAG, FUNCTION, ...JSON_OPENS];
  protected override readonly ends = ENDS;
  protected override readonly boundaries = jsonBoundaries([FUNCTION, ...ENDS]);

  protected override skips(open: string, turn: Turn): number {
    return open === TAG || open === FUNCTION ? 0 : super.skips(open, turn);
  }

  protected override read(open: string, turn: Turn, from: number): Scan<boolean> {
    if (open === FUNCTION) return this.readFunction(turn, from);
    return open === TAG ? this.readTagged(turn, from) : super.read(open, turn, from);
  }

  private *readFunction(turn: Turn, from: number): Scan<boolean> {
    const { source } = turn;
    const name = yield* source.takeWhile(isName);
    const closed = (yield* source.take(">")) !== undefined;
    yield* source.skipSpace();
    if (name === "" || !(yield* source.sees("{"))) return false;
    yield* readArgumentsCall(turn, from, { name, repaired: !closed }, ARGUMENTS);
    return true;
  }

  private *readTagged(turn: Turn, from: number): Scan<boolean> {
    const { source, out } = turn;
    const apart = yield* standsApart(turn);
    yield* source.skipSpace();
    if (yield* source.seesAny(["{", "["])) {
      const items: CallItem[] = [];
      const cut = yield* readCallObjects(turn, BOUNDARIES, items);
      if (items.length > 0) emitCalls(turn, from, items, cut);
      else if (apart) return false;
      else out.error(source.text.slice(from, source.at), "a list of calls without a call");
      return true;
    }
    if (apart && !(yield* seesPythonCall(source, source.at, false))) return false;
    const call = yield* readPythonCall(source, ENDS);
    if (call === undefined) {
      yield* source.until(BOUNDARIES);
      out.error(source.text.slice(from, source.at), "neither JSON nor a call follows the tag");
    } else if ("reason" in call) {
      out.error(source.text.slice(from, source.at), call.reason);
    } else {
      const name = call.name.endsWith(".call") ? call.name.slice(0, -".call".length) : call.name;
      out.call(source.text.slice(from, source.at), { ...call, name });
    }
    return true;
  }
}
