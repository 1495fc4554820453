import { cutAt, firstOf, lastOf, type TruncateSide } from "./truncate-text.ts";

type Part = Readonly<Record<string, unknown>>;

/** What is kept of one end of the parts: their indices, and of the last one, where it is cut, the text. */
interface Kept {
  readonly whole: number;
  readonly text?: string;
}

/**
 * The same as `truncateText` for the parts of a structured message, whose texts are cut as if they were one. A part without text counts
 * as one character, so that there are no more parts than characters.
 */
export function truncateParts(parts: readonly Part[], limit: number, side: TruncateSide): readonly Part[] {
  if (keep(parts, limit, firstOf).whole === parts.length) return parts;
  const { start, mark, end } = cutAt(limit, side);
  const head = keep(parts, start, firstOf);
  const tail = keep([...parts].reverse(), end, lastOf);
  const before = parts.slice(0, head.whole);
  const after = parts.slice(parts.length - tail.whole);
  // The mark stands in the part that was cut; where both ends cut the same one, it stays one.
  const cut = parts[head.text === undefined ? parts.length - tail.whole - 1 : head.whole];
  const same = head.text === undefined || tail.text === undefined || head.whole === parts.length - tail.whole - 1;
  if (same) {
    const text = `${head.text ?? ""}${mark}${tail.text ?? ""}`;
    return [...before, typeof cut?.text === "string" ? { ...cut, text } : { type: "text", text }, ...after];
  }
  const last = { ...parts[parts.length - tail.whole - 1], text: tail.text };
  return [...before, { ...cut, text: `${head.text}${mark}` }, last, ...after];
}

/** What `budget` characters hold of the parts, from the first on. */
function keep(parts: readonly Part[], budget: number, piece: (text: string, count: number) => string): Kept {
  let left = budget;
  for (const [whole, { text }] of parts.entries()) {
    const size = typeof text === "string" ? Math.max(1, countUpTo(text, left + 1)) : 1;
    if (size > left) return typeof text === "string" && left > 0 ? { whole, text: piece(text, left) } : { whole };
    left -= size;
  }
  return { whole: parts.length };
}

/** Characters of the text, counted up to `most`. */
const countUpTo = (text: string, most: number): number => [...text.slice(0, 2 * most)].slice(0, most).length;
