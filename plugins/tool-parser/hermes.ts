import { MarkedToolParser, Markers, readTaggedJson, strayClose, type Scan, type Turn } from "verl";

const [OPEN, CLOSE] = ["<tool_call>", "</tool_call>"] as const;
const TAG = { open: OPEN, close: CLOSE, boundaries: new Markers([OPEN, CLOSE]) };

/**
 * Hermes, Qwen 2.5 and Qwen 3: JSON in tags.
 *
 *     <think>
 *     Oslo, then.
 *     </think>
 *     <tool_call>
 *     {"name": "get_weather", "arguments": {"city": "Oslo"}}
 *     </tool_call>
 */
export class HermesToolParser extends MarkedToolParser {
  protected readonly opens = [OPEN, CLOSE];
  protected override readonly ends = ["<|im_end|>", "<|endoftext|>"];

  protected read(open: string, turn: Turn, from: number): Scan<boolean> {
    if (open === OPEN) return readTaggedJson(turn, from, TAG);
    strayClose(turn, from);
    return turn.source.now(true);
  }
}
