import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { equivalent } from "../../plugins/reward-score/shared/equivalent.ts";
import { equalAnswers } from "../../plugins/reward-score/shared/expression/equal.ts";
import { parseAnswer } from "../../plugins/reward-score/shared/expression/parse.ts";
import { plainAnswer } from "../../plugins/reward-score/shared/plain-answer.ts";

const EXACT = { relative: 0, percent: false };
const PIECES = String.raw`1 2 12 0.5 1,000 x y e i \pi \frac \sqrt \sqrt[3] { } ( ) [ ] \{ \} + - * / ^ _ = < \le , ; | ! % \pm \cup \infty \sin \log \text{ \begin{matrix} \end{matrix} & \\ \left \right $ ~ word π √`;
const soup = fc
  .array(fc.constantFrom(...PIECES.split(" "), " "), { minLength: 1, maxLength: 14 })
  .map((pieces) => pieces.join(""));

describe("answers of any kind", () => {
  it("are read without an exception, equal themselves, and compare alike in both orders", () => {
    fc.assert(
      fc.property(soup, soup, (a, b) => {
        const [x, y] = [parseAnswer(a), parseAnswer(b)];
        if (plainAnswer(a).text !== "") expect(equivalent(a, a)).toBe("equal_text");
        if (x === undefined || y === undefined) return;
        expect(equalAnswers(x, y, EXACT) === undefined).toBe(equalAnswers(y, x, EXACT) === undefined);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("fractions", () => {
  const whole = fc.integer({ min: -10_000, max: 10_000 });
  const positive = fc.integer({ min: 1, max: 10_000 });

  it("are equal exactly when their cross products are", () => {
    fc.assert(
      fc.property(whole, positive, whole, positive, (a, b, c, d) => {
        const same = equivalent(`\\frac{${a}}{${b}}`, `${c}/${d}`) !== undefined;
        expect(same).toBe(a * d === c * b);
        expect(equivalent(`\\frac{${a * d}}{${b * d}}`, `${a}/${b}`)).toBeDefined();
      }),
      { numRuns: 300 },
    );
  });
});

describe("what is not understood", () => {
  it.each(["\\frac", "(1", "1 2", "\\sum_{k} k", "\\begin{matrix} 1", "x^", "{", "|x", "1..2", "x".repeat(1001), "?"])(
    "%s is left alone",
    (text) => {
      expect(parseAnswer(text)).toBeUndefined();
    },
  );
});
