import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseJson } from "../../core/agent/index.ts";
import { parseLosslessJson } from "../../core/data/index.ts";

/** What JSON is made of, and what is none but looks so. */
const SCRAPS = [
  ..."{}[]:,\"\\ \n\t\v\u0001-+.eEu0123x'",
  ...['"a":', '"b"', "true", "false", "null", "nul", "1e5", "-0", "01", "1.", "\\u00e9", "\\u12", "\\x", "\\n", "é😀"],
  ...["9007199254740993", "123456789012345", "0.30000000000000004", "-1E-400", "[1,", "{}", "[]"],
];
const scraps = fc.array(fc.constantFrom(...SCRAPS), { maxLength: 12 }).map((parts) => parts.join(""));
const wounded = fc
  .tuple(fc.json(), fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom("", ...SCRAPS))
  .map(([text, part, scrap]) => {
    const at = Math.floor(part * text.length);
    return text.slice(0, at) + scrap + text.slice(at);
  });

function wanted(text: string): unknown {
  try {
    return parseLosslessJson(text);
  } catch {
    return undefined;
  }
}

describe("JSON of any origin", () => {
  it("is read as JSON.parse does, and is undefined where that throws", () => {
    fc.assert(
      fc.property(fc.oneof(scraps, wounded), (text) => {
        fc.pre(!/[eE]\+?\d{3}/.test(text));
        const read = parseJson(text);
        if (!isDeepStrictEqual(read, wanted(text))) expect(read).toStrictEqual(wanted(text));
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([
    ["a number beyond all numbers", '{"a":[1e400]}'],
    ["digits without end", "9".repeat(401)],
    ["digits without end in a list", `[${"9".repeat(401)}]`],
    ["deep nesting", `${"[".repeat(201)}${"]".repeat(201)}`],
  ])("is none that tools take: %s", (_what, text) => {
    expect(parseJson(text)).toBeUndefined();
  });
});
