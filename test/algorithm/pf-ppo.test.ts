import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { drawByWeight, pfPpoWeights } from "../../core/algorithm/index.ts";
import { createRng } from "../../core/tensor/index.ts";

const weights = (scores: number[], reweight_method: "pow" | "max_min" | "max_random", weight_pow = 2) =>
  Array.from(pfPpoWeights(scores, { reweight_method, weight_pow }));

describe("pfPpoWeights", () => {
  it("follows verl's three methods, with its floor", () => {
    expect(weights([-3, 0, 0.5], "pow")).toEqual([9 + 1e-8, 1e-8, 0.25 + 1e-8]);
    expect(weights([-3, 0], "pow", 1)).toEqual([3 + 1e-8, 1e-8]);
    expect(weights([2, 1, 0, 2, 0], "max_min")).toEqual([1, 0, 1, 1, 1].map((weight) => weight + 1e-8));
    expect(weights([2, 1, 0, 2], "max_random")).toEqual([0.4, 0.1, 0.1, 0.4].map((weight) => weight + 1e-8));
    expect(weights([1, 1], "max_min")).toEqual([1 + 1e-8, 1 + 1e-8]);
  });

  it("gives rows that take no part no weight, and measures the others without them", () => {
    const left = (row: number) => row === 0;
    const of = (reweight_method: "max_min" | "pow") =>
      Array.from(pfPpoWeights([NaN, 1, 2, 3], { reweight_method, weight_pow: 2 }, left));
    expect(of("max_min")).toEqual([0, 1 + 1e-8, 1e-8, 1 + 1e-8]);
    expect(of("pow")[0]).toBe(0);
  });

  it.each([
    ["a score that is not a number", [1, NaN], 2],
    ["a power that overflows", [1, 1e200], 2],
    ["zero to a negative power", [1, 0], -1],
  ])("refuses %s", (_, scores, weight_pow) => {
    expect(() => weights(scores, "pow", weight_pow)).toThrow(
      expect.objectContaining({ code: "VERL_ALGORITHM_NOT_FINITE", message: expect.stringContaining("row 1") }),
    );
  });
});

describe("drawByWeight", () => {
  const draw = (given: readonly number[], seed = 1) => drawByWeight(Float64Array.from(given), createRng(seed));

  it("draws as many rows as there are, never one of weight 0, the same for the same stream", () => {
    const given = fc.array(fc.oneof(fc.constant(0), fc.double({ min: 1e-8, max: 1e8, noNaN: true })), { minLength: 1 });
    fc.assert(
      fc.property(given, fc.integer(), (some, seed) => {
        fc.pre(some.some((weight) => weight > 0));
        const rows = draw(some, seed);
        expect(rows).toHaveLength(some.length);
        for (const row of rows) expect(some[row]).toBeGreaterThan(0);
        expect(draw(some, seed)).toEqual(rows);
      }),
    );
  });

  it("draws in proportion to the weights", () => {
    const given = Array.from({ length: 20_000 }, (_, row) => [1, 0, 3][row % 3]!);
    const share = draw(given).reduce((count, row) => count + (row % 3 === 2 ? 1 : 0), 0) / given.length;
    // Three standard deviations are 0.009.
    expect(Math.abs(share - 0.75)).toBeLessThan(0.01);
  });

  it("keeps every row where none has a weight", () => {
    expect(Array.from(draw([0, 0, 0]))).toEqual([0, 1, 2]);
    expect(draw([])).toHaveLength(0);
  });
});
