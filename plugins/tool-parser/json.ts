import { MarkedToolParser, type Markers, type MarkGuard, type Scan, type Turn } from "verl";
import { JSON_OPENS, jsonBoundaries, readBareJson, skipsBareJson } from "./bare-json.ts";
import { headOf } from "./json-head.ts";

const ENDS = ["<|im_end|>", "<|eot_id|>", "<|endoftext|>", "</s>"];

/**
 * Calls as plain JSON: alone, in a list, in a code block, around prose. An object counts as a call when it has a name and `arguments`
 * (or `parameters`), or the name of a tool on offer; other JSON is content.
 *
 *     {"name": "get_weather", "arguments": {"city": "Oslo"}}
 */
export class JsonToolParser extends MarkedToolParser {
  protected readonly opens: readonly string[] = JSON_OPENS;
  protected override readonly ends: readonly string[] = ENDS;
  protected override readonly guard: MarkGuard = seesObject;

  protected readonly boundaries: Markers = jsonBoundaries(ENDS);

  protected override skips(open: string, turn: Turn): number {
    return skipsBareJson(open, turn);
  }

  protected read(open: string, turn: Turn, from: number): Scan<boolean> {
    return readBareJson(open, turn, from, this.boundaries);
  }
}

/** A brace that no key follows starts no call, nor does a bracket or a code block that no object follows. */
export function seesObject(mark: string, text: string, at: number): boolean | undefined {
  if (!JSON_OPENS.includes(mark)) return true;
  const head = headOf(mark, text, at);
  return head && head !== "none";
}
