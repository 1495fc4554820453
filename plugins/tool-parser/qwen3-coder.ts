import {
  isSpace,
  MarkedToolParser,
  Markers,
  readTaggedJson,
  readStrayClose,
  TRUNCATED,
  type Scan,
  type TextSource,
  type Turn,
} from "verl";
import { QuotedValues } from "./quoted-values.ts";
import { readRawValue, type RawValue } from "./raw-value.ts";
import { isHeader } from "./value-rules.ts";
import { isClosingTags, shown } from "./wrong-tags.ts";

const [OPEN, CLOSE] = ["<tool_call>", "</tool_call>"] as const;
const [FUNCTION, FUNCTION_END] = ["<function=", "</function>"] as const;
const [PARAMETER, PARAMETER_END] = ["<parameter=", "</parameter>"] as const;
const ENDS = ["<|im_end|>", "<|endoftext|>"];
const JSON_TAG = { open: OPEN, close: CLOSE, boundaries: new Markers([OPEN, CLOSE, ...ENDS]) };
const PARTS = new Markers([PARAMETER, PARAMETER_END, FUNCTION, FUNCTION_END, OPEN, CLOSE, ...ENDS]);
/** What an unreadable call reaches to. */
const CALL_END = new Markers([FUNCTION, OPEN, CLOSE, ...ENDS]);
const STARTS: readonly string[] = [FUNCTION, OPEN];
/** What shows that a function is over that was not closed. */
const BEHIND = [CLOSE, OPEN, FUNCTION, ...ENDS];
const VALUE = {
  close: PARAMETER_END,
  stem: "</param",
  followers: [PARAMETER, FUNCTION_END, CLOSE, FUNCTION, OPEN, ...ENDS],
  next: PARAMETER,
  outer: [FUNCTION_END, CLOSE],
  starts: [FUNCTION, OPEN],
  ends: ENDS,
  marks: PARTS,
  open: PARAMETER,
  pairs: PARTS,
  alike: /<parameter[\s>]/g,
};
const NEWLINE = 10;

/**
 * Qwen3-Coder, Qwen 3.5 and later: XML-like tags, values as bare text, typed by the tool's schema. One line break on either side of
 * a value is layout, everything else is the value: `&`, `<`, indentation, even a closing tag that nothing fitting follows.
 *
 *     <tool_call>
 *     <function=get_weather>
 *     <parameter=city>
 *     Oslo
 *     </parameter>
 *     </function>
 *     </tool_call>
 */
export class Qwen3CoderToolParser extends MarkedToolParser {
  protected readonly opens = [OPEN, FUNCTION, CLOSE, FUNCTION_END, PARAMETER_END];
  protected override readonly ends = ENDS;

  protected *read(open: string, turn: Turn, from: number): Scan<boolean> {
    const { source, out } = turn;
    if (open === FUNCTION) {
      if (yield* this.isProse(source)) return false;
      yield* this.readFunction(turn, from, false);
      return true;
    }
    if (open !== OPEN) {
      return yield* readStrayClose(turn, from);
    }
    yield* source.skipSpace();
    if (yield* source.take(OPEN)) yield* source.skipSpace();
    if (yield* source.seesAny(["{", "["])) return yield* readTaggedJson(turn, from, JSON_TAG);
    if (!(yield* source.sees(FUNCTION))) {
      const start = source.at;
      const hit = yield* source.until(PARTS);
      const body = source.text.slice(start, source.at).trim();
      if (hit !== CLOSE && body !== "" && !/["{]/.test(body)) return false;
      if (hit === PARAMETER || hit === PARAMETER_END || hit === FUNCTION_END) yield* source.until(CALL_END);
      yield* source.take(CLOSE);
      out.error(source.text.slice(from, source.at), hit === undefined && body === "" ? TRUNCATED : NOT_XML);
      return true;
    }
    for (let start = from; out.room > 0 && (yield* source.take(FUNCTION)); start = source.at) {
      yield* this.readFunction(turn, start, true);
      yield* source.skipSpace();
    }
    yield* source.take(CLOSE);
    return true;
  }

  /** Whether a text only mentions `<function=`, after which the source stands: nothing of a call follows. Nothing is read. */
  private *isProse(source: TextSource): Scan<boolean> {
    const start = source.at;
    const name = yield* source.takeWhile(isHeader);
    const closed = yield* source.take(">");
    if (closed) yield* source.skipSpace();
    const from = source.at;
    const hit = yield* source.until(PARTS);
    const body = source.text.slice(from, source.at);
    source.at = start;
    if (hit !== undefined && !STARTS.includes(hit)) return false;
    return closed ? /^[^"'{[<]/.test(body) : /\S\s+\S/.test(name);
  }

  /** Reads a function; the source stands after `<function=`. @param tagged It stands in `<tool_call>`. */
  private *readFunction(turn: Turn, from: number, tagged: boolean): Scan {
    const { source, out } = turn;
    const header = yield* source.takeWhile(isHeader);
    const name = unquote(header);
    let problem = (yield* source.take(">")) ? undefined : `the function "${name}" has no >`;
    if (name === "") problem = "the call has no name";
    const parameters = new Map<string, string>();
    const quoted = new QuotedValues(source, VALUE);
    let repaired = !tagged || isSelfClosed(header);
    for (;;) {
      yield* source.skipSpace();
      if (yield* source.take(PARAMETER)) {
        const head = yield* source.takeWhile(isHeader);
        const key = unquote(head);
        const closed = yield* source.take(">");
        if (!closed || isSelfClosed(head)) {
          problem ??= `the parameter "${key}" has no ${closed ? "value" : ">"}`;
          continue;
        }
        const value = yield* this.readValue(turn, name, parameters, quoted);
        if (value === undefined) {
          const ended = yield* source.atEnd();
          return out.error(source.text.slice(from, source.at), ended ? TRUNCATED : `the parameter "${key}" has no end`);
        }
        repaired ||= value.open;
        if (value.stray !== undefined) problem ??= `the parameter "${key}" is not closed before ${value.stray}`;
        parameters.set(key, trimLines(value.text));
      } else if (yield* source.take(FUNCTION_END)) {
        break;
      } else if (yield* source.take(PARAMETER_END)) {
        repaired = true;
      } else if (yield* source.atEnd()) {
        if (parameters.size === 0 && !isSelfClosed(header)) problem = TRUNCATED;
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
        else problem ??= `the function "${name}" has text between its parameters: ${shown(text)}`;
      }
    }
    const end = source.at;
    yield* source.skipSpace();
    if (!(yield* source.seesAny([CLOSE, FUNCTION]))) repaired = true;
    source.at = end;
    const raw = source.text.slice(from, end);
    if (problem === undefined) out.textCall(raw, { name, parameters, repaired });
    else out.error(raw, problem);
  }

  private readValue(
    { source, out }: Turn,
    tool: string,
    given: ReadonlyMap<string, string>,
    quoted: QuotedValues,
  ): Scan<RawValue | undefined> {
    const start = source.at;
    return readRawValue(source, VALUE, quoted, (tag, at) => {
      const inline = source.text[start] !== "\n";
      if (!inline && !startsLine(source.text, at, start)) return source.now(false);
      if (tag === CLOSE || tag === PARAMETER_END) return source.now(true);
      if (tag !== PARAMETER) return seesNextCall(source);
      return source.then(source.takeWhile(isHeader), (header) => {
        const key = unquote(header);
        return source.now(!given.has(key) && out.takes(tool, key));
      });
    });
  }
}

function* seesNextCall(source: TextSource): Scan<boolean> {
  yield* source.skipSpace();
  return (yield* source.seesAny(BEHIND)) !== undefined || (yield* source.atEnd());
}

const NOT_XML = `the call does not start with ${FUNCTION}`;

/** Whether only spaces stand before `at` in its line, from `start` on. */
function startsLine(text: string, at: number, start: number): boolean {
  let i = at - 1;
  while (i >= start && isSpace(text.charCodeAt(i)) && text.charCodeAt(i) !== NEWLINE) i -= 1;
  return i < start || text.charCodeAt(i) === NEWLINE;
}

function trimLines(text: string): string {
  const from = text.startsWith("\r\n") ? 2 : text.startsWith("\n") ? 1 : 0;
  const tail = text.endsWith("\r\n") ? 2 : text.endsWith("\n") ? 1 : 0;
  return text.slice(from, Math.max(from, text.length - tail));
}

/** Whether a tag has no other that closes it: `<function=ping/>`. */
const isSelfClosed = (header: string): boolean => header.trimEnd().endsWith("/");

/** The name in a tag. */
function unquote(header: string): string {
  const text = (isSelfClosed(header) ? header.trimEnd().slice(0, -1) : header).trim();
  const from = text.startsWith('"') || text.startsWith("'") ? 1 : 0;
  const tail = text.endsWith('"') || text.endsWith("'") ? 1 : 0;
  return text.slice(from, Math.max(from, text.length - tail));
}
