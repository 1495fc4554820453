import fc from "fast-check";

/** What breaks brackets, strings and tags of any format. */
const SNIPPETS = [
  '"',
  "'",
  "{",
  "}",
  "[",
  "]",
  "\\",
  "\n",
  ",",
  " ",
  "<",
  ">",
  "😀",
  "\ud83d",
  "</think>",
  "```",
  "null",
  "0",
];

/** Marks of a format, as far as its texts show them: tags, special tokens, words in brackets. */
export const marksOf = (texts: readonly string[]): string[] => [
  ...new Set(texts.flatMap((text) => text.match(/<[^<>\s]{2,30}>|\[[A-Z_/]+\]/g) ?? [])),
];

/**
 * Answers of a format as a model may garble them: one or two of `texts` with small wounds (letters left out, doubled or put in, marks
 * of the format anywhere, the end cut off), or marks and scraps alone.
 */
export function garbledTexts(texts: readonly string[]): fc.Arbitrary<string> {
  const scraps = fc.constantFrom(...SNIPPETS, ...marksOf(texts));
  const wound = fc.record({
    kind: fc.constantFrom("cut", "double", "put", "end"),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    length: fc.integer({ min: 1, max: 12 }),
    text: scraps,
  });
  const wounded = fc
    .tuple(fc.array(fc.constantFrom(...texts), { minLength: 1, maxLength: 2 }), fc.array(wound, { maxLength: 4 }))
    .map(([parts, wounds]) =>
      wounds.reduce((text, { kind, at, length, text: put }) => {
        const i = Math.floor(at * text.length);
        if (kind === "cut") return text.slice(0, i) + text.slice(i + length);
        if (kind === "double") return text.slice(0, i + length) + text.slice(i);
        if (kind === "put") return text.slice(0, i) + put + text.slice(i);
        return at < 0.2 ? text.slice(0, Math.ceil(text.length * (1 - at))) : text;
      }, parts.join("\n")),
    );
  const soup = fc
    .array(fc.oneof(scraps, fc.string({ maxLength: 8 })), { maxLength: 30 })
    .map((parts) => parts.join(""));
  return fc.oneof({ weight: 4, arbitrary: wounded }, { weight: 1, arbitrary: soup });
}

/** The text in pieces of the given sizes, over and over. */
export function cutInPieces(text: string, sizes: readonly number[]): string[] {
  const pieces: string[] = [];
  for (let at = 0, i = 0; at < text.length; i++) {
    const size = Math.max(1, sizes[i % sizes.length] ?? 1);
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}
