import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { damerau, nearest, quotedAlternatives } from "../../core/registry/nearest.ts";

const ESTIMATORS = ["gae", "grpo", "grpo_passk", "opo", "reinforce_plus_plus", "remax", "rloo"];
const word = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 7 });

describe("damerau", () => {
  it.each([
    ["grop", "grpo", 1],
    ["grpo", "grpo", 0],
    ["", "abc", 3],
    ["kitten", "sitting", 3],
    ["abcd", "badc", 2],
  ])("%s to %s is %d", (a, b, distance) => expect(damerau(a, b)).toBe(distance));

  it("is symmetric, zero for equals alone, and bounded by both lengths", () => {
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = damerau(a, b);
        expect(distance).toBe(damerau(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });

  it("counts a swap of two different neighbours as one edit", () => {
    fc.assert(
      fc.property(word, word, (before, after) => {
        expect(damerau(`${before}xy${after}`, `${before}yx${after}`)).toBe(1);
      }),
    );
  });
});

describe("nearest", () => {
  it.each([
    ["grop", ["grpo"]],
    ["GRPO", ["grpo", "grpo_passk"]],
    ["reinforce++", ["reinforce_plus_plus"]],
    ["reinforce-plus-plus", ["reinforce_plus_plus"]],
    ["reinforce", ["reinforce_plus_plus"]],
    ["rlo", ["rloo"]],
    ["banana", []],
    ["", []],
  ])("of %j is %j", (given, expected) => expect(nearest(given, ESTIMATORS)).toEqual(expected));

  it("finds every one-swap typo of a key first", () => {
    const typo = fc
      .constantFrom(...ESTIMATORS.filter((key) => key.length > 3))
      .chain((key) => fc.tuple(fc.constant(key), fc.nat(key.length - 2)));
    fc.assert(
      fc.property(typo, ([key, at]) => {
        const typed = key.slice(0, at) + key[at + 1]! + key[at]! + key.slice(at + 2);
        expect(nearest(typed, ESTIMATORS)[0]).toBe(key);
      }),
    );
  });

  it("gives candidates only, each once, in an order that the candidates' order does not change", () => {
    fc.assert(
      fc.property(word, fc.array(word), (given, candidates) => {
        const found = nearest(given, candidates);
        expect(new Set(found).size).toBe(found.length);
        expect(candidates).toEqual(expect.arrayContaining(found));
        expect(nearest(given, [...candidates].reverse())).toEqual(found);
      }),
    );
  });

  it("does not compare very long names", () => {
    expect(nearest("a".repeat(5000), ["a".repeat(5000)])).toEqual([]);
  });
});

it("joins alternatives as a sentence does", () => {
  expect([["a"], ["a", "b"], ["a", "b", "c"]].map(quotedAlternatives)).toEqual([
    '"a"',
    '"a" or "b"',
    '"a", "b" or "c"',
  ]);
});
