import type { Scan, TextSource } from "verl";
import type { QuotedValues } from "./quoted-values.ts";
import { ValueRules, VAIN_COST, type MayEnd, type RawValueSyntax, type ValueEnd } from "./value-rules.ts";
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
 * @param quoted Those of the call that the value stands in.
 * @returns Undefined when it has no end; the source then stands where the next call may start.
 */
export function* readRawValue(
  source: TextSource,
  syntax: RawValueSyntax,
  quoted: QuotedValues,
  mayEnd: MayEnd,
): Scan<RawValue | undefined> {
  const start = source.at;
  const rules = new ValueRules(source, syntax, quoted, mayEnd);
  for (;;) {
    const tag = yield* source.until(syntax.marks);
    const after = source.at + (tag?.length ?? 0);
    const end = tag === undefined ? rules.atEnd() : yield* rules.see(tag);
    const isLate = tag === undefined || end?.tag === "passed";
    if (end !== undefined && (!isLate || canReturn(source, end.at, tag === undefined))) {
      return cutOut(source, start, end, syntax);
    }
    if (end !== undefined || tag === undefined) break;
    source.at = after;
  }
  const { restart } = rules;
  if (restart !== undefined && canReturn(source, restart, true)) source.at = restart;
  return undefined;
}

/** What has been looked through behind `at` is read again; an answer in which that is much is no slip, and the rest of it no call. */
function canReturn(source: TextSource, at: number, isOver: boolean): boolean {
  source.repairLeft -= source.at - at + (isOver ? VAIN_COST : 0);
  return source.repairLeft > 0;
}

function cutOut(source: TextSource, start: number, { at, tag }: ValueEnd, { close, stem }: RawValueSyntax): RawValue {
  const text = source.text.slice(start, at);
  source.at = tag === "other" ? at : at + close.length;
  return tag === "other" ? withoutClosingTag(text, stem) : { text, open: false };
}
