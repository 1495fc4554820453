import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { truncateParts } from "../../core/agent/truncate-parts.ts";
import { truncateText, type TruncateSide } from "../../core/agent/truncate-text.ts";

const text = (part: string) => ({ type: "text", text: part });
const image = { type: "image", url: "u" };
const sides = fc.constantFrom<TruncateSide>("left", "middle", "right");

describe("truncateParts", () => {
  it.each<[TruncateSide, number, object[], object[]]>([
    ["right", 4, ["ab", "cd"].map(text), ["ab", "cd"].map(text)],
    ["right", 3, ["ab", "cd", "ef"].map(text), ["ab", "c...(truncated)"].map(text)],
    ["right", 2, ["ab", "cd", "ef"].map(text), ["ab", "...(truncated)"].map(text)],
    ["left", 3, ["ab", "cd", "ef"].map(text), ["(truncated)...d", "ef"].map(text)],
    ["middle", 4, ["abc", "de", "fgh"].map(text), ["ab...(truncated)...", "gh"].map(text)],
    ["middle", 2, [text("abcd")], [text("a...(truncated)...d")]],
    ["right", 2, [image, image, image], [image, image, text("...(truncated)")]],
    ["left", 2, [text("abc"), image], [text("(truncated)...c"), image]],
    ["right", 1, [text("😀😀")], [text("😀...(truncated)")]],
  ])("cuts the %s to %d characters", (side, limit, parts, kept) => {
    expect(truncateParts(parts as never, limit, side)).toEqual(kept);
  });

  it("cuts one part as truncateText cuts a text, and keeps what else it has", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary", minLength: 1 }),
        fc.integer({ min: 1, max: 12 }),
        sides,
        (whole, limit, side) => {
          expect(truncateParts([{ type: "text", text: whole, id: 1 }], limit, side)).toEqual([
            { type: "text", text: truncateText(whole, limit, side), id: 1 },
          ]);
        },
      ),
    );
  });

  it("shows as much of many parts as of the text that they make", () => {
    const pieces = fc.array(fc.string({ minLength: 1, maxLength: 5 }), { maxLength: 8 });
    fc.assert(
      fc.property(pieces, fc.integer({ min: 1, max: 20 }), sides, (texts, limit, side) => {
        const shown = truncateParts(texts.map(text), limit, side);
        expect(shown.map((part) => part.text).join("")).toBe(truncateText(texts.join(""), limit, side));
      }),
    );
  });
});
