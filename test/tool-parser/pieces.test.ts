import { describe, expect, it } from "@jest/globals";
// @ts-expect-error -- texts of a bench, a plain script without types
import * as texts from "../bench/support/tool-parser-texts.mjs";
import { FORMATS, workFor } from "./helpers.ts";

interface Shaped {
  shape: string;
  text: string;
}
const { hostileTexts, longCalls, piecesOf } = texts as {
  hostileTexts: (format: string, length: number) => Shaped[];
  longCalls: (format: string, length: number) => Shaped[];
  piecesOf: (text: string, length: number) => Iterable<string>;
};

/** Times that a letter may be looked at, or copied. A parser that does so for each piece takes half the text's length in letters. */
const MOST = { steps: 150, copied: 300 };

describe.each(FORMATS)("%s", (format) => {
  it.each([1, 16])("looks at and copies each letter a few times, in pieces of %d, whatever the text", (size) => {
    const steep = [...longCalls(format, 40_000), ...hostileTexts(format, 4000)].flatMap(({ shape, text }) => {
      const { steps, copied } = workFor(format, piecesOf(text, size));
      const isSteep = steps > MOST.steps * text.length || copied > MOST.copied * text.length;
      return isSteep ? [{ shape, length: text.length, steps, copied }] : [];
    });
    expect(steep).toEqual([]);
  });
});
