import type { Scan, TextSource } from "verl";
import { ValueRules, type MayEnd, type RawValueSyntax, type ValueEnd } from "./value-rules.ts";
import { withoutClosingTag } from "./wrong-tags.ts";

export interface RawValue {
  text: string;
  /** The closing tag was left out. */
  open: boolean;
  /** A closing tag in a text without its own that closes nothing there: it shows that the text is not all value. */
  stray?: string;
}

/**
 * Reads a value that stands in the text as it is, to its end and past its closing tag; `ValueRules` say which tag ends it.
 * @returns Undefined when it has no end; the source then stands where the next call may start.
 */
export function* readRawValue(source: TextSource, syntax: RawValueSyntax, mayEnd: MayEnd): Scan<RawValue | undefined> {
  const start = source.at;
  const rules = new ValueRules(source, syntax, mayEnd);
  for (;;) {
    const tag = yield* source.until(syntax.marks);
    const isOver = tag === undefined || rules.isSpent;
    const after = source.at + (tag?.length ?? 0);
    const end = isOver ? rules.atEnd() : yield* rules.see(tag);
    if (end !== undefined && isPaid(source, end)) return cutOut(source, start, end, syntax);
    if (end !== undefined || isOver) break;
    source.at = after;
  }
  source.at = rules.callAt ?? source.at;
  return undefined;
}

/** What has been looked through behind a tag that was passed over is read again; an answer in which that is much is no slip. */
function isPaid(source: TextSource, { at, tag }: ValueEnd): boolean {
  if (tag !== "passed") return true;
  source.repairLeft -= source.at - at;
  return source.repairLeft > 0;
}

function cutOut(source: TextSource, start: number, { at, tag }: ValueEnd, { close, stem }: RawValueSyntax): RawValue {
  const text = source.text.slice(start, at);
  source.at = tag === "other" ? at : at + close.length;
  return tag === "other" ? withoutClosingTag(text, stem) : { text, open: false };
}
