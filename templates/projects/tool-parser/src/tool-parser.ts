import { MarkedToolParser, Markers, readTaggedJson, strayClose, type Scan, type Turn } from "verl";

/** What your model writes around a call. */
const [OPEN, CLOSE] = ["<tool_call>", "</tool_call>"] as const;
/** Tokens that end its turn: a broken call reaches no further. */
const ENDS = ["<|end|>", "<|im_end|>"];
const TAG = { open: OPEN, close: CLOSE, boundaries: new Markers([OPEN, CLOSE, ...ENDS]) };

/**
 * Calls as JSON between two tags:
 *
 *     <tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>
 *
 * The base class finds the tags, splits off reasoning, and takes answers in pieces; this one reads what is between.
 */
export class TaggedToolParser extends MarkedToolParser {
  protected readonly opens = [OPEN, CLOSE];
  protected override readonly ends = ENDS;

  protected *read(open: string, turn: Turn, from: number): Scan<boolean> {
    if (open === OPEN) return yield* readTaggedJson(turn, from, TAG);
    strayClose(turn, from);
    return true;
  }
}
