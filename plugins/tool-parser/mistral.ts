import {
  emitCalls,
  isSeparator,
  MarkedToolParser,
  Markers,
  NOT_JSON,
  readArgumentsCall,
  readCallObjects,
  standsApart,
  TRUNCATED,
  type CallItem,
  type MarkGuard,
  type Scan,
  type TextSource,
  type Turn,
} from "verl";
import { isCall, jsonBoundaries, readBareJson } from "./bare-json.ts";
import { beforeCall } from "./json-head.ts";
import { isName } from "./python-call.ts";

const [CALLS, ARGS, ID, LIST] = ["[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "["] as const;
const ENDS = ["</s>", "<pad>"];
const AFTER_NAME = new Markers([ARGS, ID, CALLS, "{", "\n", ...ENDS]);
const AFTER_CALLED = [ARGS, ID, "{"];
const ARGUMENTS = { closes: [], boundaries: new Markers([CALLS, ...ENDS]) };
const BRACKETED_ARGUMENTS = { closes: [")"], boundaries: new Markers([")", CALLS, ...ENDS]) };
const BROKEN_ITEM = new Markers([CALLS, ', {"name"', ',{"name"', ',\n{"name"', ...ENDS]);
const BARE = jsonBoundaries([CALLS, ...ENDS]);
/** What names do not have, but prose has. */
const NO_NAME = /[\s"'[\](){}<>,;]/;
/** Calls without a mark that are read after one that has it. */
const MAX_UNMARKED = 1000;

/**
 * Mistral. Tokenizers up to v7 write a list, later ones a name and arguments, with or without a mark between them. A mark that stands in a
 * line as a word does, with neither a list nor an object behind it, nor a name with arguments or of a tool on offer, is content.
 *
 *     [TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Oslo"}, "id": "abc123XYZ"}]
 *     [TOOL_CALLS]get_weather{"city": "Oslo"}[TOOL_CALLS]get_time{}
 *     [TOOL_CALLS]get_weather[CALL_ID]abc123XYZ[ARGS]{"city": "Oslo"}
 */
export class MistralToolParser extends MarkedToolParser {
  protected readonly opens = [CALLS, LIST];
  protected override readonly ends = ENDS;
  protected override readonly guard: MarkGuard = beforeCall(LIST);
  protected override readonly reasoningTags = [
    ["[THINK]", "[/THINK]"],
    ["<think>", "</think>"],
  ] as const;

  protected override skips(open: string, { out }: Turn): number {
    return open === LIST && !out.isBlank ? LIST.length : 0;
  }

  protected read(open: string, turn: Turn, from: number): Scan<boolean> {
    if (open !== LIST) return this.readMarked(turn, from);
    // Without the mark it must be all that the answer is.
    return turn.out.isBlank ? readBareJson(open, turn, from, BARE) : turn.source.now(false);
  }

  private *readMarked(turn: Turn, from: number): Scan<boolean> {
    const { source, out } = turn;
    const apart = yield* standsApart(turn);
    yield* source.skipSpace();
    if ((yield* source.sees("{")) || (yield* this.startsList(source))) {
      const items: CallItem[] = [];
      const open = yield* readCallObjects(turn, BROKEN_ITEM, items);
      let more = false;
      let data = "";
      let end = source.at;
      while (!open && data === "" && items.length < out.room && (yield* this.seesList(source))) {
        const start = source.at;
        const next: CallItem[] = [];
        const cut = yield* readCallObjects(turn, BROKEN_ITEM, next);
        if (next.some((item) => isCall(item, turn))) {
          items.push(...next);
          more = true;
          end = source.at;
        } else data = source.text.slice(start, source.at);
        if (cut) break;
      }
      if (items.length > 0) emitCalls(turn, from, items, open || more, end);
      else if (!open) out.error(source.text.slice(from, end), "a list of calls without a call");
      else out.error(source.text.slice(from, source.at), (yield* source.atEnd()) ? TRUNCATED : NOT_JSON);
      out.content(data);
      return true;
    }
    if (apart && !(yield* this.startsNamed(turn))) return false;
    yield* this.readNamed(turn, from);
    for (let more = 0; more < MAX_UNMARKED && out.room > 0 && (yield* this.seesNamed(turn)); more++) {
      yield* source.skipWhile(isSeparator);
      yield* this.readNamed(turn, source.at, true);
    }
    return true;
  }

  /** Whether a list starts, with a call in it, with none, or at the end of the answer. */
  private *startsList(source: TextSource): Scan<boolean> {
    const { at } = source;
    const opened = (yield* source.take("[")) !== undefined;
    yield* source.skipSpace();
    const seen = opened && ((yield* source.seesAny(["{", "]"])) !== undefined || (yield* source.atEnd()));
    source.at = at;
    return seen;
  }

  /** Whether a call by name follows: the name of a tool on offer, or one and what its arguments start with. */
  private *startsNamed({ source, out }: Turn): Scan<boolean> {
    const { at } = source;
    const name = yield* source.takeWhile(isName);
    // In prose, a blank stands before a bracket.
    const isBracketed = yield* source.sees("(");
    yield* source.skipSpace();
    const isCalled = isBracketed || (yield* source.seesAny(AFTER_CALLED)) !== undefined;
    const seen = out.knows(name) || (name !== "" && isCalled);
    source.at = at;
    return seen;
  }

  /** Whether another list of calls follows; the source then stands before it. */
  private *seesList(source: TextSource): Scan<boolean> {
    const end = source.at;
    yield* source.skipWhile(isSeparator);
    const start = source.at;
    const seen = (yield* source.take("[")) !== undefined && (yield* source.skipSpace(), yield* source.sees("{"));
    source.at = seen ? start : end;
    return seen;
  }

  /** Whether a name with arguments follows that lacks its mark. */
  private *seesNamed({ source, out }: Turn): Scan<boolean> {
    const end = source.at;
    yield* source.skipWhile(isSeparator);
    const name = yield* source.takeWhile(isName);
    const seen =
      name !== "" && (!out.knowsTools || out.knows(name)) && (yield* source.seesAny([ARGS, '{"', "{}"])) !== undefined;
    source.at = end;
    return seen;
  }

  /** Reads a name and its arguments. */
  private *readNamed(turn: Turn, from: number, repaired = false): Scan {
    const { source, out } = turn;
    const start = source.at;
    let mark = yield* source.until(AFTER_NAME);
    const written = source.text.slice(start, source.at).trim();
    const inBrackets = written.endsWith("(");
    const name = inBrackets ? written.slice(0, -1).trim() : written;
    let id: string | undefined;
    if (mark === ID) {
      const idFrom = (source.at += ID.length);
      mark = yield* source.until(AFTER_NAME);
      id = source.text.slice(idFrom, source.at).trim();
    }
    if (mark === "\n") mark = (yield* source.skipSpace(), yield* source.seesAny([ARGS, "{"]));
    if (mark === ARGS) source.at += ARGS.length;
    if (mark !== ARGS && mark !== "{") {
      const ended = yield* source.atEnd();
      out.error(source.text.slice(from, source.at), ended ? TRUNCATED : "the call has no arguments");
    } else if (name === "") {
      out.error(source.text.slice(from, source.at), "the call has no name");
    } else if (NO_NAME.test(name)) {
      out.error(source.text.slice(from, source.at), "no name follows the mark");
    } else if (mark === ARGS && (yield* seesNoArguments(source))) {
      out.call(source.text.slice(from, source.at), { name, arguments: {}, ...(id !== undefined && { id }) }, true);
    } else {
      const syntax = inBrackets ? BRACKETED_ARGUMENTS : ARGUMENTS;
      yield* readArgumentsCall(turn, from, { name, id, repaired: repaired || inBrackets }, syntax);
    }
  }
}

/** Whether the next call comes, or the turn ends, where arguments should come. */
function* seesNoArguments(source: TextSource): Scan<boolean> {
  yield* source.skipSpace();
  return (yield* source.seesAny([CALLS, ...ENDS])) !== undefined || (yield* source.atEnd());
}
