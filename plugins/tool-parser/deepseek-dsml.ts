import { Markers, parseJson, readArgumentsCall, TRUNCATED, type Scan, type Turn } from "verl";
import { isClosingTags, readRawValue, shown, type RawValue } from "./raw-value.ts";
import { SectionedToolParser } from "./sectioned.ts";

/** V3.2 and V4 name the section otherwise. */
const SECTION = ["<｜DSML｜function_calls>", "<｜DSML｜tool_calls>"];
const SECTION_END = ["</｜DSML｜function_calls>", "</｜DSML｜tool_calls>"];
const [INVOKE, INVOKE_END] = ["<｜DSML｜invoke", "</｜DSML｜invoke>"] as const;
const [PARAMETER, PARAMETER_END] = ["<｜DSML｜parameter", "</｜DSML｜parameter>"] as const;
const MARKS = { sectionOpen: SECTION, sectionClose: SECTION_END, callOpen: [INVOKE], callClose: [INVOKE_END] };
const PARTS = new Markers([PARAMETER, PARAMETER_END, ...Object.values(MARKS).flat()]);
const ENDS = ["<｜end▁of▁sentence｜>"];
/** What shows that a call is over that was not closed. */
const BEHIND = [INVOKE, ...SECTION, ...SECTION_END, ...ENDS];
const VALUE = {
  close: PARAMETER_END,
  stem: "</｜DSML｜param",
  followers: [PARAMETER, INVOKE_END, INVOKE, ...SECTION_END],
  next: PARAMETER,
  outer: [INVOKE_END, ...SECTION_END],
  ends: ENDS,
  marks: PARTS,
  open: PARAMETER,
  pairs: PARTS,
};
/** Whether a value is JSON, by its attribute `string`. */
const KINDS = new Map([
  ["true", false],
  ["false", true],
]);
const ATTRIBUTES = { name: /\bname\s*=\s*"([^"]*)"/, string: /\bstring\s*=\s*"([^"]*)"/ };
const isHeader = (code: number): boolean => code !== 62 && code !== 60 && code !== 10;

/** A value as it stands in the text, and whether it says that it is JSON; undefined where it says neither. */
interface Parameter {
  text: string;
  isJson: boolean | undefined;
}

/**
 * DeepSeek V3.2 and V4: XML-like tags with a mark in each. A value says whether it is text, taken as it is, or JSON; the tool's schema types
 * either. The arguments may stand in a call as one JSON object as well.
 *
 *     <｜DSML｜function_calls>
 *     <｜DSML｜invoke name="get_weather">
 *     <｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>
 *     <｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
 *     </｜DSML｜invoke>
 *     </｜DSML｜function_calls>
 */
export class DeepSeekDsmlToolParser extends SectionedToolParser {
  protected override readonly ends = ENDS;

  constructor() {
    super(MARKS);
  }

  protected *readCall(turn: Turn, from: number): Scan {
    const { source, out } = turn;
    const name = attribute(yield* source.takeWhile(isHeader), "name");
    let problem = (yield* source.take(">")) ? undefined : `the call of "${name}" has no >`;
    if (name === "") problem = "the call has no name";
    yield* source.skipSpace();
    if (problem === undefined && (yield* source.sees("{"))) {
      return yield* readArgumentsCall(turn, from, { name }, { closes: [INVOKE_END], boundaries: PARTS });
    }
    const parameters = new Map<string, Parameter>();
    let repaired = false;
    for (;;) {
      yield* source.skipSpace();
      if (yield* source.take(PARAMETER)) {
        const header = yield* source.takeWhile(isHeader);
        const key = attribute(header, "name");
        if (key === "") problem ??= "a parameter has no name";
        if (!(yield* source.take(">"))) {
          problem ??= `the parameter "${key}" has no >`;
          continue;
        }
        const value = yield* readValue(turn, name, parameters);
        if (value === undefined) {
          const ended = yield* source.atEnd();
          return out.error(source.text.slice(from, source.at), ended ? TRUNCATED : `the parameter "${key}" has no end`);
        }
        repaired ||= value.open;
        if (value.stray !== undefined) problem ??= `the parameter "${key}" is not closed before ${value.stray}`;
        // Before the tag that ends a value in place of its own stands layout.
        const text = value.open ? value.text.replace(/\r?\n$/, "") : value.text;
        parameters.set(key, { text, isJson: KINDS.get(attribute(header, "string")) });
      } else if (yield* source.take(INVOKE_END)) {
        break;
      } else if (yield* source.take(PARAMETER_END)) {
        repaired = true;
      } else if (yield* source.atEnd()) {
        if (parameters.size === 0) problem = TRUNCATED;
        repaired = true;
        break;
      } else if (yield* source.seesAny(BEHIND)) {
        repaired = true;
        break;
      } else {
        const start = source.at;
        const hit = yield* source.until(PARTS);
        const text = source.text.slice(start, source.at);
        if (parameters.size > 0 && hit !== PARAMETER_END && isClosingTags(text)) repaired = true;
        else problem ??= `the call of "${name}" has text between its parameters: ${shown(text)}`;
      }
    }
    const raw = source.text.slice(from, source.at);
    if (problem !== undefined) return out.error(raw, problem);
    const read = argumentsOf(parameters);
    if (read.values === undefined) out.error(raw, "the arguments are not valid JSON");
    else out.call(raw, { name, arguments: read.values }, repaired || read.repaired);
  }
}

function readValue(
  { source, out }: Turn,
  tool: string,
  given: ReadonlyMap<string, Parameter>,
): Scan<RawValue | undefined> {
  return readRawValue(source, VALUE, (tag) => {
    if (tag !== PARAMETER) return source.now(true);
    return source.then(source.takeWhile(isHeader), (header) => {
      const key = attribute(header, "name");
      return source.now(key !== "" && !given.has(key) && out.takes(tool, key));
    });
  });
}

/** The values of parameters. They are read as one object, so that numbers keep what is known of how they were written. */
function argumentsOf(parameters: ReadonlyMap<string, Parameter>) {
  let repaired = false;
  const fields = Array.from(parameters, ([key, { text, isJson }]) => {
    const json = isJson !== false && parseJson(text) !== undefined;
    if (isJson === undefined || (isJson && !json)) repaired = true;
    return `${JSON.stringify(key)}:${json ? text : JSON.stringify(text)}`;
  });
  return { values: parseJson(`{${fields.join(",")}}`) as Record<string, unknown> | undefined, repaired };
}

/** An attribute of a tag; empty when it is missing. */
function attribute(header: string, name: keyof typeof ATTRIBUTES): string {
  return ATTRIBUTES[name].exec(header)?.[1]?.trim() ?? "";
}
