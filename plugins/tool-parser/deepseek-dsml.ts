import {
  isSpace,
  Markers,
  parseJson,
  readArgumentsCall,
  TRUNCATED,
  type MarkGuard,
  type Scan,
  type TextSource,
  type Turn,
} from "verl";
import { QuotedValues } from "./quoted-values.ts";
import { readRawValue, type RawValue } from "./raw-value.ts";
import { SectionedToolParser, type SectionMarks } from "./sectioned.ts";
import { isHeader, type RawValueSyntax } from "./value-rules.ts";
import { isClosingTags, shown } from "./wrong-tags.ts";

const ENDS = ["<｜end▁of▁sentence｜>"];

/** The tags with a mark in them. */
function spellingOf(mark: string) {
  const [invoke, invokeEnd] = [`<${mark}invoke`, `</${mark}invoke>`];
  const [parameter, parameterEnd] = [`<${mark}parameter`, `</${mark}parameter>`];
  // V3.2 and V4 name the section otherwise.
  const [section, sectionEnd] = ["<", "</"].map((tag) =>
    ["function_calls>", "tool_calls>"].map((name) => tag + mark + name),
  );
  const marks = { sectionOpen: section!, sectionClose: sectionEnd!, callOpen: [invoke], callClose: [invokeEnd] };
  const parts = new Markers([parameter, parameterEnd, ...Object.values(marks).flat(), ...ENDS]);
  const value: RawValueSyntax = {
    close: parameterEnd,
    stem: `</${mark}param`,
    followers: [parameter, invokeEnd, invoke, ...sectionEnd!, ...ENDS],
    next: parameter,
    outer: [invokeEnd, ...sectionEnd!],
    starts: [invoke, ...section!],
    ends: ENDS,
    marks: parts,
    open: parameter,
    pairs: parts,
  };
  /** What shows that a call is over that was not closed. */
  const behind = [invoke, ...section!, ...sectionEnd!, ...ENDS];
  return { marks, invoke, invokeEnd, parameter, parameterEnd, parts, value, behind };
}

/** As the model shall write them, and as models do whose vocabulary has no token for the mark. */
const [USUAL, WITH_BARS, PLAIN] = ["｜DSML｜", "|DSML|", ""].map(spellingOf) as [Spelling, Spelling, Spelling];
const SPELLINGS = [USUAL, WITH_BARS, PLAIN];
type Spelling = ReturnType<typeof spellingOf>;
const all = (kind: keyof SectionMarks): string[] => SPELLINGS.flatMap(({ marks }) => marks[kind]);
const MARKS = {
  sectionOpen: all("sectionOpen"),
  sectionClose: all("sectionClose"),
  callOpen: all("callOpen"),
  callClose: all("callClose"),
};
/** Plain tags that stand alone close anything. */
const PLAIN_ENDS: readonly string[] = [...PLAIN.marks.sectionClose, ...PLAIN.marks.callClose];
const [NAMED, MAX_SPACE] = [" name=", 8];
/** Whether a value is JSON, by its attribute `string`. */
const KINDS = new Map([
  ["true", false],
  ["false", true],
]);
const ATTRIBUTES = { name: /\bname\s*=\s*"([^"]*)"/, string: /\bstring\s*=\s*"([^"]*)"/ };

/** A value as it stands in the text, and whether it says that it is JSON; undefined where it says neither. */
interface Parameter {
  text: string;
  isJson: boolean | undefined;
}

/**
 * DeepSeek V3.2 and V4: XML-like tags with a mark in each. A value says whether it is text, taken as it is, or JSON; the tool's schema types
 * either. The arguments may stand in a call as one JSON object as well. Tags with other bars in their mark, or without it, are read as
 * repaired; without it, what names no tool on offer is content.
 *
 *     <｜DSML｜function_calls>
 *     <｜DSML｜invoke name="get_weather">
 *     <｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>
 *     <｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
 *     </｜DSML｜invoke>
 *     </｜DSML｜function_calls>
 */
export class DeepSeekDsmlToolParser extends SectionedToolParser {
  protected override readonly opens = Object.values(MARKS)
    .flat()
    .filter((mark) => !PLAIN_ENDS.includes(mark));
  protected override readonly ends = ENDS;
  protected override readonly guard: MarkGuard = startsCall;

  constructor() {
    super(MARKS);
  }

  protected override *read(open: string, turn: Turn, from: number): Scan<boolean> {
    const { source, out } = turn;
    if (open === PLAIN.invoke && out.knowsTools) {
      const name = attribute(yield* source.takeWhile(isHeader), "name");
      source.at = from + open.length;
      if (!out.knows(name)) return false;
    }
    return yield* super.read(open, turn, from);
  }

  /** A tag has its name right behind it. */
  protected override *seesCall(source: TextSource): Scan<boolean> {
    const { at } = source;
    yield* source.skipSpace();
    const seen = (yield* source.seesAny(["name=", "name ="])) !== undefined;
    source.at = at;
    return seen;
  }

  protected *readCall(turn: Turn, from: number): Scan {
    const { source, out } = turn;
    const spelling = SPELLINGS.find(({ invoke }) => source.text.startsWith(invoke, from)) ?? USUAL;
    const { invokeEnd, parameter, parameterEnd, parts, behind } = spelling;
    const name = attribute(yield* source.takeWhile(isHeader), "name");
    let problem = (yield* source.take(">")) ? undefined : `the call of "${name}" has no >`;
    if (name === "") problem = "the call has no name";
    yield* source.skipSpace();
    if (problem === undefined && (yield* source.sees("{"))) {
      return yield* readArgumentsCall(
        turn,
        from,
        { name, repaired: spelling !== USUAL },
        { closes: [invokeEnd], boundaries: parts },
      );
    }
    const parameters = new Map<string, Parameter>();
    const quoted = new QuotedValues(source, spelling.value);
    let repaired = spelling !== USUAL;
    for (;;) {
      yield* source.skipSpace();
      if (yield* source.take(parameter)) {
        const header = yield* source.takeWhile(isHeader);
        const key = attribute(header, "name");
        if (key === "") problem ??= "a parameter has no name";
        const closed = yield* source.take(">");
        if (!closed || header.trimEnd().endsWith("/")) {
          problem ??= `the parameter "${key}" has no ${closed ? "value" : ">"}`;
          continue;
        }
        const value = yield* readValue(turn, spelling, name, parameters, quoted);
        if (value === undefined) {
          const ended = yield* source.atEnd();
          return out.error(source.text.slice(from, source.at), ended ? TRUNCATED : `the parameter "${key}" has no end`);
        }
        repaired ||= value.open;
        if (value.stray !== undefined) problem ??= `the parameter "${key}" is not closed before ${value.stray}`;
        // Before the tag that ends a value in place of its own stands layout.
        const text = value.open ? value.text.replace(/\r?\n$/, "") : value.text;
        parameters.set(key, { text, isJson: KINDS.get(attribute(header, "string")) });
      } else if (yield* source.take(invokeEnd)) {
        break;
      } else if (yield* source.take(parameterEnd)) {
        repaired = true;
      } else if (yield* source.atEnd()) {
        if (parameters.size === 0) problem = TRUNCATED;
        repaired = true;
        break;
      } else if (yield* source.seesAny(behind)) {
        repaired = true;
        break;
      } else {
        const start = source.at;
        const hit = yield* source.until(parts);
        const text = source.text.slice(start, source.at);
        if (parameters.size > 0 && hit !== parameterEnd && isClosingTags(text)) repaired = true;
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
  { parameter, value }: Spelling,
  tool: string,
  given: ReadonlyMap<string, Parameter>,
  quoted: QuotedValues,
): Scan<RawValue | undefined> {
  return readRawValue(source, value, quoted, (tag) => {
    if (tag !== parameter) return source.now(true);
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

/** A plain tag counts where a call with a name follows, and in it. */
function startsCall(mark: string, text: string, at: number): boolean | undefined {
  if (mark === PLAIN.invoke) return seesWord(NAMED, text, at);
  if (!PLAIN.marks.sectionOpen.includes(mark)) return true;
  let from = at;
  while (from < at + MAX_SPACE && isSpace(text.charCodeAt(from))) from += 1;
  return seesWord(PLAIN.invoke + NAMED, text, from);
}

/** Whether a word comes next; undefined where the text so far does not say. */
function seesWord(word: string, text: string, at: number): boolean | undefined {
  const next = text.slice(at, at + word.length);
  if (next === word) return true;
  return word.startsWith(next) ? undefined : false;
}
