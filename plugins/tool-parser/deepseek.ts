import { Markers, readArgumentsCall, TRUNCATED, type Scan, type Turn } from "verl";
import { SectionedToolParser } from "./sectioned.ts";

const FENCE = "```";
/** A mark as models write it, the usual way first: what is no token of the vocabulary is spelled out, more or less. */
const spelled = (...words: string[]): string[] =>
  ["｜", "|"].flatMap((bar) => ["▁", "_", " ", "\\_"].map((gap) => `<${bar}${words.join(gap)}${bar}>`));
const SEPARATORS = spelled("tool", "sep");
/** What V3 writes before the name. */
const TYPE = "function";
const MARKS = {
  sectionOpen: [...spelled("tool", "calls", "begin"), "<｜tool▁calls｜>"],
  sectionClose: spelled("tool", "calls", "end"),
  // R1's distilled models leave out the mark before the type.
  callOpen: [...spelled("tool", "call", "begin"), ...SEPARATORS.map((separator) => TYPE + separator)],
  callClose: spelled("tool", "call", "end"),
};
const MARK_TEXTS = Object.values(MARKS)
  .flat()
  .filter((mark) => !mark.startsWith(TYPE));
const ENDS = ["<｜end▁of▁sentence｜>"];
const HEADER_END = new Markers([...SEPARATORS, ...MARK_TEXTS, ...ENDS]);
const NAME_END = new Markers(["\n", FENCE, "{", ...MARK_TEXTS, ...ENDS]);
/** Arguments that are none look otherwise. */
const NAME = /^(?!null$|None$)[^\s"'{}[\](),]+$/;

/**
 * DeepSeek. V3 and R1 write a type, a name and a code block; V3.1 a name and bare JSON. Both are read under both keys, for
 * distilled models come with either template.
 *
 *     <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
 *     ```json
 *     {"city": "Oslo"}
 *     ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
 *
 *     <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>
 */
export class DeepSeekToolParser extends SectionedToolParser {
  protected override readonly ends = ENDS;

  constructor() {
    super(MARKS);
  }

  protected *readCall(turn: Turn, from: number): Scan {
    const { source, out } = turn;
    const isUsual = source.text.startsWith(MARKS.callOpen[0]!, from);
    const isBare = source.text.startsWith(TYPE, from);
    const header = isBare ? TYPE : yield* this.readHeader(turn, from, HEADER_END);
    if (header === undefined) return;
    yield* source.skipSpace();
    let name = header.trim();
    if (!(yield* source.seesAny(["{", "[", FENCE, ...MARKS.callClose]))) {
      const start = source.at;
      const hit = yield* source.until(NAME_END);
      if (hit === undefined || ENDS.includes(hit)) {
        return out.error(
          source.text.slice(from, source.at),
          hit === undefined ? TRUNCATED : "the call has no arguments",
        );
      }
      const second = source.text.slice(start, source.at).trim();
      const end = source.at;
      yield* source.skipSpace();
      const fenced = yield* source.sees(FENCE);
      source.at = end;
      if (NAME.test(second) && (name === TYPE || fenced)) name = second;
      else source.at = start;
    }
    if (name === "") {
      yield* source.until(this.boundaries);
      yield* source.take(...MARKS.callClose);
      return out.error(source.text.slice(from, source.at), "the call has no name");
    }
    yield* readArgumentsCall(
      turn,
      from,
      { name, repaired: !isUsual },
      { closes: MARKS.callClose, boundaries: this.boundaries },
    );
  }
}
