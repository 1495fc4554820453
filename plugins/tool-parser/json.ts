import { MarkedToolParser, type MarkGuard, type Scan, type Turn } from "verl";
import { JSON_OPENS, readBareJson, skipsBareJson } from "./bare-json.ts";
import { headOf } from "./json-head.ts";

/**
 * Calls as plain JSON: alone, in a list, in a code block, around prose. An object counts as a call when it has a name and `arguments`
 * (or `parameters`), or the name of a tool on offer; other JSON is content.
 *
 *     {"name": "get_weather", "arguments": {"city": "Oslo"}}
 */
export class JsonToolParser extends MarkedToolParser {
  protected readonly opens: readonly string[] = JSON_OPENS;
  protected override readonly ends: readonly string[] = ["<|im_end|>", "<|eot_id|>", "<|endoftext|>", "</s>"];
  protected override readonly guard: MarkGuard = seesObject;

  protected override skips(open: string, turn: Turn): number {
    return skipsBareJson(open, turn);
  }

  protected read(open: string, turn: Turn, from: number): Scan<boolean> {
    return readBareJson(open, turn, from);
  }
}

/** A brace that no key follows starts no call, nor does a bracket or a code block that no object follows. */
export function seesObject(mark: string, text: string, at: number): boolean | undefined {
  if (!JSON_OPENS.includes(mark)) return true;
  const head = headOf(mark, text, at);
  return head && head !== "none";
}
