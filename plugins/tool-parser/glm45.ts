import {
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
import { isClosingTags, shown } from "./wrong-tags.ts";

const [OPEN, CLOSE] = ["<tool_call>", "</tool_call>"] as const;
const [KEY, KEY_END] = ["<arg_key>", "</arg_key>"] as const;
const [VALUE, VALUE_END] = ["<arg_value>", "</arg_value>"] as const;
const ENDS = ["<|user|>", "<|observation|>", "<|endoftext|>"];
const JSON_TAG = { open: OPEN, close: CLOSE, boundaries: new Markers([OPEN, CLOSE, ...ENDS]) };
const PARTS = new Markers([OPEN, CLOSE, KEY, KEY_END, VALUE, VALUE_END, ...ENDS]);
/** What shows that a call is over that was not closed. */
const BEHIND: readonly string[] = [OPEN, ...ENDS];
const RAW_VALUE = {
  close: VALUE_END,
  stem: "</arg_",
  followers: [KEY, CLOSE, ...BEHIND],
  next: KEY,
  outer: [CLOSE],
  starts: [OPEN],
  ends: ENDS,
  marks: new Markers([VALUE, VALUE_END, KEY, CLOSE, ...BEHIND]),
  open: VALUE,
  pairs: new Markers([VALUE, VALUE_END, KEY, CLOSE, OPEN]),
};
/** What may follow a key only where its value was left out. */
const NO_VALUE = [KEY, CLOSE, ...BEHIND];
const [NO_NAME, NO_END] = ["the call has no name", "the call has no end"] as const;
const isKey = (code: number): boolean => code !== 60;

/**
 * GLM 4.5 and later: a name, then keys and values in tags, values as bare text, typed by the tool's schema. Line breaks between the
 * tags may be missing; a call without arguments is a bare name.
 *
 *     <tool_call>get_weather
 *     <arg_key>city</arg_key>
 *     <arg_value>Oslo</arg_value>
 *     </tool_call>
 */
export class Glm45ToolParser extends MarkedToolParser {
  protected readonly opens = [OPEN, CLOSE];
  protected override readonly ends = ENDS;

  protected *read(open: string, turn: Turn, from: number): Scan<boolean> {
    const { source, out } = turn;
    if (open === CLOSE) return yield* readStrayClose(turn, from);
    yield* source.skipSpace();
    if (yield* source.seesAny(["{", "[", "```"])) return yield* readTaggedJson(turn, from, JSON_TAG);

    const start = source.at;
    const hit = yield* source.until(PARTS);
    const name = source.text.slice(start, source.at).trim();
    const named = /^[\p{L}\p{M}\p{N}_.\-/:]+$/u.test(name);
    const over = hit === undefined || BEHIND.includes(hit);
    if (over && name !== "" && (!named || isProse(turn, from + open.length, name))) return false;
    if (!named || over) {
      if (!named) yield* source.until(JSON_TAG.boundaries);
      yield* source.take(CLOSE);
      out.error(source.text.slice(from, source.at), hit === undefined ? TRUNCATED : named ? NO_END : NO_NAME);
      return true;
    }
    yield* this.readArguments(turn, from, name);
    return true;
  }

  private *readArguments(turn: Turn, from: number, name: string): Scan {
    const { source, out } = turn;
    const parameters = new Map<string, string>();
    const quoted = new QuotedValues(source, RAW_VALUE);
    let problem: string | undefined;
    let repaired = false;
    for (;;) {
      yield* source.skipSpace();
      if (yield* source.take(CLOSE)) break;
      if (yield* source.take(KEY)) {
        while (yield* source.take(KEY)) repaired = true;
        const key = (yield* source.takeWhile(isKey)).trim();
        if (!(yield* source.take(KEY_END))) repaired = true;
        yield* source.skipSpace();
        while (yield* source.take(KEY_END)) {
          repaired = true;
          yield* source.skipSpace();
        }
        if (yield* source.seesAny(NO_VALUE)) {
          problem ??= `the argument "${key}" has no value`;
          continue;
        }
        if (!(yield* source.take(VALUE))) repaired = true;
        const value = yield* this.readValue(turn, name, parameters, quoted);
        if (value === undefined) {
          const ended = yield* source.atEnd();
          return out.error(source.text.slice(from, source.at), ended ? TRUNCATED : `the argument "${key}" has no end`);
        }
        repaired ||= value.open;
        if (value.stray !== undefined) problem ??= `the argument "${key}" is not closed before ${value.stray}`;
        // Before the tag that ends a value in place of its own stands layout.
        parameters.set(key, value.open ? value.text.replace(/\r?\n$/, "") : value.text);
      } else if (yield* source.take(VALUE_END, KEY_END)) {
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
        const hit = (yield* source.take(VALUE)) ?? (yield* source.until(PARTS));
        const text = source.text.slice(start, source.at);
        if (parameters.size > 0 && hit !== VALUE_END && isClosingTags(text)) repaired = true;
        else problem ??= `the call has text between its arguments: ${shown(text)}`;
      }
    }
    const raw = source.text.slice(from, source.at);
    if (problem === undefined) out.textCall(raw, { name, parameters, repaired });
    else out.error(raw, problem);
  }

  private readValue(
    { source, out }: Turn,
    tool: string,
    given: ReadonlyMap<string, string>,
    quoted: QuotedValues,
  ): Scan<RawValue | undefined> {
    return readRawValue(source, RAW_VALUE, quoted, (tag) => {
      if (tag !== KEY) return source.now(true);
      return source.then(source.takeWhile(isKey), (header) => {
        const key = header.trim();
        return given.has(key) || !out.takes(tool, key) ? source.now(false) : seesValue(source);
      });
    });
  }
}

/** Whether a word at the end of text only stands behind a mention of the tag, which ends at `at`: names stand right behind it. */
const isProse = ({ source, out }: Turn, at: number, name: string): boolean =>
  !out.isBlank && !out.knows(name) && source.text[at] === " ";

function* seesValue(source: TextSource): Scan<boolean> {
  if (!(yield* source.take(KEY_END))) return false;
  yield* source.skipSpace();
  return yield* source.sees(VALUE);
}
