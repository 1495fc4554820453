import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { parseLosslessJson } from "../../core/data/lossless-json.ts";

describe("parseLosslessJson", () => {
  it("keeps integers beyond 2^53 and leaves digits in strings and in fractions alone", () => {
    const text =
      '{"id": 9007199254740993, "neg": [-12345678901234567890], "s": "9007199254740993 \\"1\\"", "f": 1234567890.12345678901234567}';
    expect(parseLosslessJson(text)).toEqual({
      id: 9007199254740993n,
      neg: [-12345678901234567890n],
      s: '9007199254740993 "1"',
      f: 1234567890.1234567,
    });
  });

  it("is not fooled by strings that look like its own marks", () => {
    expect(parseLosslessJson('["int:1", "_int:2", "\\u0069nt:3", 12345678901234567890]')).toEqual([
      "int:1",
      "_int:2",
      "int:3",
      12345678901234567890n,
    ]);
  });

  it("keeps safe integers of sixteen digits as numbers", () => {
    expect(parseLosslessJson("[9007199254740991]")).toEqual([9007199254740991]);
  });

  it("equals JSON.parse on every text but for integers out of range", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const rounded = JSON.stringify(parseLosslessJson(text), (_key, value: unknown) =>
          typeof value === "bigint" ? Number(value) : value,
        );
        expect(JSON.parse(rounded)).toEqual(JSON.parse(text));
      }),
    );
  });

  it("throws what JSON.parse throws, quickly on unclosed strings too", () => {
    expect(() => parseLosslessJson(`{"a": 12345678901234567890, "${'\\"'.repeat(200_000)}`)).toThrow(SyntaxError);
  });
});
