import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { evaluate, formatNumber } from "../../plugins/tool/arithmetic.ts";

describe("evaluate", () => {
  it.each([
    ["1+2*3", 7],
    ["(1+2)*3", 9],
    [" 10 - 4 - 3 ", 3],
    ["2**3**2", 512],
    ["2^10", 1024],
    ["-2**2", -4],
    ["2**-1", 0.5],
    ["7//2", 3],
    ["-7//2", -4],
    ["-7 % 3", 2],
    ["1e3 + .5", 1000.5],
    ["sqrt(16) + max(1, 2, 3) - abs(-4)", 3],
    ["2*pi", 2 * Math.PI],
    ["--3", 3],
    ["+(4)", 4],
  ])("%s is %d", (expression, value) => expect(evaluate(expression)).toBeCloseTo(value, 12));

  it.each([
    ["", "ends too early"],
    ["1+", "ends too early"],
    ["1 2", '"2" is not expected'],
    ["(1", '")" is missing at the end'],
    ["1)", '")" is not expected'],
    ["foo", '"foo" is not known'],
    ["constructor(1)", '"constructor" is not known'],
    ["sqrt(1, 2)", "takes one value"],
    ["1/0", "division by zero"],
    ["1//0", "division by zero"],
    ["2**99999", "infinite or too large"],
    ["sqrt(-1)", "no value"],
    ["a=1", '"=" is no part of an expression'],
    ["process.exit(1)", '"." is no part of an expression'],
    ["1".repeat(1001), "more than 1000 characters"],
    ["(".repeat(500), "nested too deeply"],
    ["-".repeat(500) + "1", "nested too deeply"],
  ])("refuses %s", (expression, reason) => expect(() => evaluate(expression)).toThrow(reason));

  it("has the value of the tree that an expression was written from", () => {
    interface Node {
      text: string;
      value: number;
    }
    const { node } = fc.letrec<{ node: Node }>((tie) => ({
      node: fc.oneof(
        { depthSize: "small" },
        fc.integer({ min: 0, max: 99 }).map((value): Node => ({ text: String(value), value })),
        tie("node").map(({ text, value }): Node => ({ text: `-(${text})`, value: -value })),
        fc.tuple(tie("node"), fc.constantFrom("+", "-", "*"), tie("node")).map(([left, sign, right]): Node => {
          const value = { "+": left.value + right.value, "-": left.value - right.value, "*": left.value * right.value };
          return { text: `(${left.text} ${sign} ${right.text})`, value: value[sign] };
        }),
      ),
    }));
    fc.assert(fc.property(node, ({ text, value }) => expect(evaluate(text) === value).toBe(true)));
  });

  it("ends on any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."0123456789.+-*/%^()e, sqrtmaxpi") }), (text) => {
        try {
          expect(Number.isFinite(evaluate(text))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

it("writes numbers as people do", () => {
  expect(formatNumber(0.1 + 0.2)).toBe("0.3");
  expect(formatNumber(570)).toBe("570");
  expect(formatNumber(1 / 3)).toBe("0.333333333333333");
  expect(formatNumber(-0)).toBe("0");
});
