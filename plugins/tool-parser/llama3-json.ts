import { emitCalls, Markers, readCallObjects, type CallItem, type Scan, type Turn } from "verl";
import { JSON_OPENS } from "./bare-json.ts";
import { JsonToolParser } from "./json.ts";
import { readPythonCall } from "./python-call.ts";

const TAG = "<|python_tag|>";
const ENDS = ["<|eom_id|>", "<|eot_id|>", "<|end_of_text|>"];
const BOUNDARIES = new Markers([TAG, "\n{", "; {", ";{", ";\n{", ...ENDS]);

/**
 * Llama 3: JSON objects with `parameters`, after a tag or bare; several with `;` or a line break between them. The built-in tools of
 * 3.1 are written as `NAME.call(key="value")`.
 *
 *     <|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}; {"name": "get_time", "parameters": {}}
 *     {"name": "get_weather", "parameters": {"city": "Oslo"}}
 */
export class Llama3JsonToolParser extends JsonToolParser {
  protected override readonly opens = [TAG, ...JSON_OPENS];
  protected override readonly ends = ENDS;

  protected override skips(open: string, turn: Turn): number {
    return open === TAG ? 0 : super.skips(open, turn);
  }

  protected override read(open: string, turn: Turn, from: number): Scan<boolean> {
    return open === TAG ? this.readTagged(turn, from) : super.read(open, turn, from);
  }

  private *readTagged(turn: Turn, from: number): Scan<boolean> {
    const { source, out } = turn;
    yield* source.skipSpace();
    if (yield* source.seesAny(["{", "["])) {
      const items: CallItem[] = [];
      const cut = yield* readCallObjects(turn, BOUNDARIES, items);
      if (items.length > 0) emitCalls(turn, from, items, cut);
      else out.error(source.text.slice(from, source.at), "a list of calls without a call");
      return true;
    }
    const call = yield* readPythonCall(source);
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
