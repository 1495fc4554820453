import { Markers, readArgumentsCall, type Scan, type Turn } from "verl";
import { SectionedToolParser } from "./sectioned.ts";

const ARGUMENT = "<|tool_call_argument_begin|>";
const MARKS = {
  sectionOpen: ["<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"],
  sectionClose: ["<|tool_calls_section_end|>", "<|tool_call_section_end|>"],
  callOpen: ["<|tool_call_begin|>"],
  callClose: ["<|tool_call_end|>"],
};
const ENDS = ["<|im_end|>", "[EOS]", "[PAD]"];
const HEADER_END = new Markers([ARGUMENT, ...Object.values(MARKS).flat(), ...ENDS]);

/**
 * Kimi K2: a section of calls, each with an id that holds the name: `functions.NAME:INDEX`, where either end may be missing.
 *
 *     <|tool_calls_section_begin|>
 *     <|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>
 *     <|tool_calls_section_end|>
 */
export class KimiK2ToolParser extends SectionedToolParser {
  protected override readonly ends = ENDS;

  constructor() {
    super(MARKS);
  }

  protected *readCall(turn: Turn, from: number): Scan {
    const { source, out } = turn;
    const header = yield* this.readHeader(turn, from, HEADER_END);
    if (header === undefined) return;
    const id = header.trim();
    const colon = id.lastIndexOf(":");
    const path = colon >= 0 && /^\d+$/.test(id.slice(colon + 1)) ? id.slice(0, colon) : id;
    const name = path.startsWith("functions.") ? path.slice("functions.".length) : path;
    const syntax = { closes: MARKS.callClose, boundaries: this.boundaries, fenced: false };
    if (name !== "") return yield* readArgumentsCall(turn, from, { name, id }, syntax);
    yield* source.until(this.boundaries);
    yield* source.take(...MARKS.callClose);
    out.error(source.text.slice(from, source.at), "the call has no name");
  }
}
