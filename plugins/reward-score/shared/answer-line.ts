import { lastBoxed } from "./boxed.ts";
import type { Extraction } from "./scored.ts";
import { withoutMarks } from "./text.ts";

/** `Answer:`, `**Answer:**` or `**Answer**:`. */
const COLON = /answer\*{0,3}\s{0,9}:/gi;
/** Those, and `the answer is`. */
const COLON_OR_IS = /answer(?:\*{0,3}\s{0,9}:|\s{1,9}is\b:?)/gi;

/**
 * The answer behind the last mark: a box in its line, or else the line up to the end of its sentence. Undefined: there is no mark.
 * @param marks `colon`: `Answer:` alone; `colon_or_is`: `answer is` too.
 */
export function markedAnswer(text: string, marks: "colon" | "colon_or_is", by: string): Extraction | undefined {
  let behind: number | undefined;
  for (const { index, 0: mark } of text.matchAll(marks === "colon" ? COLON : COLON_OR_IS)) behind = index + mark.length;
  if (behind === undefined) return undefined;
  // Bold that ends behind the colon may stand alone in its line.
  const line = withoutMarks(text.slice(behind)).split("\n", 1)[0]!;
  const boxed = lastBoxed(line);
  if (boxed.answer !== null || boxed.reason !== "no_box") return boxed;
  const stop = line.search(/\.\s/);
  // Of `Dr. Smith` the stop ends no sentence.
  const answer = stop > 0 && /[\d\\]/.test(line.slice(0, stop)) ? line.slice(0, stop) : line;
  return { answer: withoutMarks(answer), by };
}
