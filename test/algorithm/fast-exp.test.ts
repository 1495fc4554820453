import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { fastExp } from "verl";

describe("the exponential of loops", () => {
  it.each([NaN, Infinity, -Infinity, 0, -0, 710, -746, -740, 5e-324, -5e-324, Number.MAX_VALUE, -Number.MAX_VALUE])(
    "is Math.exp's at %p",
    (x) => {
      expect(fastExp(x)).toBe(Math.exp(x));
    },
  );

  it("is Math.exp's to 3e-13, wherever that is a normal number", () => {
    const numbers = fc.oneof(
      fc.double({ min: -745, max: 710, noNaN: true }),
      fc.double({ min: -90, max: 90, noNaN: true }),
      fc.float({ min: -1, max: 1, noNaN: true }),
    );
    fc.assert(
      fc.property(numbers, (x) => {
        const exact = Math.exp(x);
        return fastExp(x) === exact || Math.abs(fastExp(x) - exact) <= 3e-13 * exact;
      }),
      { numRuns: 5_000, examples: [[700], [-700], [699.999], [-699.999], [88], [-88], [1], [-1], [Math.LN2 / 512]] },
    );
  });

  it("rises where it goes from one entry of its table to the next", () => {
    const step = Math.LN2 / 256;
    for (let n = -2_000; n < 2_000; n++) {
      const edge = (n + 0.5) * step;
      expect(fastExp(edge + 1e-12)).toBeGreaterThan(fastExp(edge - 1e-12));
    }
  });
});
