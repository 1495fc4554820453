import {
  emitCalls,
  MarkedToolParser,
  Markers,
  peekJson,
  readCallObjects,
  readTaggedJson,
  readStrayClose,
  type CallItem,
  type MarkGuard,
  type Scan,
  type TextSource,
  type Turn,
} from "verl";
import { beforeCall } from "./json-head.ts";

const [OPEN, CLOSE, BRACE] = ["<tool_call>", "</tool_call>", "{"] as const;
const ENDS = ["<|im_end|>", "<|endoftext|>"];
const TAG = { open: OPEN, close: CLOSE, boundaries: new Markers([OPEN, CLOSE, ...ENDS]) };

/**
 * Hermes, Qwen 2.5 and Qwen 3: JSON in tags. The opening tag may be missing.
 *
 *     <think>
 *     Oslo, then.
 *     </think>
 *     <tool_call>
 *     {"name": "get_weather", "arguments": {"city": "Oslo"}}
 *     </tool_call>
 */
export class HermesToolParser extends MarkedToolParser {
  protected readonly opens = [OPEN, CLOSE, BRACE];
  protected override readonly ends = ENDS;
  protected override readonly guard: MarkGuard = beforeCall(BRACE);

  protected override skips(open: string, { source }: Turn): number {
    return open === BRACE ? (source.resultOf(peekNoCall(source)) ?? 0) : 0;
  }

  protected read(open: string, turn: Turn, from: number): Scan<boolean> {
    if (open === OPEN) return readTaggedJson(turn, from, TAG);
    if (open === BRACE) return readUntagged(turn, from);
    return readStrayClose(turn, from);
  }
}

/** How many letters are content, of what starts with a brace; 0: a call whose opening tag is missing. */
const peekNoCall = (source: TextSource): Scan<number> =>
  source.then(peekJson(source), (json) =>
    json === undefined
      ? source.now(BRACE.length)
      : source.then(isClosed(source, json.length), (closed) => source.now(closed ? 0 : json.length)),
  );

/** Whether the closing tag stands behind so many letters. */
function isClosed(source: TextSource, length: number): Scan<boolean> {
  const { at } = source;
  source.at += length;
  return source.then(source.skipSpace(), () =>
    source.then(source.sees(CLOSE), (closed) => {
      source.at = at;
      return source.now(closed);
    }),
  );
}

function* readUntagged(turn: Turn, from: number): Scan<boolean> {
  const { source, out } = turn;
  source.at = from;
  const length = yield* peekNoCall(source);
  if (length === BRACE.length) return false;
  if (length > 0) {
    source.at += length;
    out.content(source.text.slice(from, source.at));
    return true;
  }
  const items: CallItem[] = [];
  yield* readCallObjects(turn, TAG.boundaries, items);
  yield* source.skipSpace();
  yield* source.take(CLOSE);
  emitCalls(turn, from, items, true);
  return true;
}
