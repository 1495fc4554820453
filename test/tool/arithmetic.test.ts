import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { evaluate } from "../../plugins/tool/arithmetic.ts";
import { formatNumber } from "../../plugins/tool/exact-number.ts";

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
  ])("%s is %d", (expression, value) => expect(Number(evaluate(expression))).toBeCloseTo(value, 12));

  it.each([
    ["2**53+1", "9007199254740993"],
    ["123456789*987654321", "121932631112635269"],
    ["100000000000000001-100000000000000000", "1"],
    ["-(2**64)", "-18446744073709551616"],
    ["10**30/10**29", "10"],
    ["10**30//7", "142857142857142857142857142857"],
    ["-(10**30)//7", "-142857142857142857142857142858"],
    ["-(10**30) % 7", "6"],
    ["10**30 % -7", "-6"],
    ["max(2**53, 2**53+1) - min(2**53, 2**53+1)", "1"],
    ["abs(-(2**53+1)) + floor(0.5) + round(1.2)", "9007199254740994"],
    ["floor(7.5) * 10**20", "700000000000000000000"],
    ["(-1)**(10**40+1)", "-1"],
    ["0**(10**40)", "0"],
    ["2**3000 // 2**2999", "2"],
    ["6/4", "1.5"],
    ["9007199254740993*1.0", "9.00719925474099e+15"],
    ["10**20/3", "3.33333333333333e+19"],
    ["1e15+0.3", "1e+15"],
    ["1e14+0.3", "100000000000000"],
    ["10**15*1.0", "1000000000000000"],
  ])("%s is %s to the last digit", (expression, value) => expect(formatNumber(evaluate(expression))).toBe(value));

  it("takes no time for what is too large", () => {
    const large = ["9**9**9", "9**9**9**9", "(10**999)**(10**999)", "-(2**99999999)", "9*".repeat(499) + "9"];
    const tower = `${"2**(".repeat(15)}2${")".repeat(15)}`;
    const product = Array(90).fill("9**1000").join("*");
    const started = process.cpuUsage();
    for (const expression of [...large, tower, product])
      try {
        formatNumber(evaluate(expression));
      } catch (error) {
        expect((error as Error).message).toContain("too large");
      }
    const { user, system } = process.cpuUsage(started);
    // Some milliseconds of the processor; 9**9**9 alone would take half a minute of it.
    expect(user + system).toBeLessThan(2_000_000);
  });

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
    ["2**99999", "infinite or too large: integers may have 1000 digits"],
    ["10**999*10", "1000 digits"],
    ["2.5**99999", "infinite or too large"],
    ["10**400*0.5", "more than 308 digits"],
    ["0**-1", "division by zero"],
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
    fc.assert(fc.property(node, ({ text, value }) => expect(Number(evaluate(text)) === value).toBe(true)));
  });

  it("ends on any text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."0123456789.+-*/%^()e, sqrtmaxpi") }), (text) => {
        try {
          expect(formatNumber(evaluate(text))).toMatch(/^-?\d+(\.\d+)?(e[-+]\d+)?$/);
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
