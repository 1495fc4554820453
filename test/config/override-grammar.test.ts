import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { OverrideSyntaxError, parseOverride, parseValue, printValue } from "../../core/config/override-grammar.ts";

const value = (text: string) => parseOverride(text).value;
function syntaxError(text: string): OverrideSyntaxError {
  try {
    parseOverride(text);
  } catch (error) {
    if (error instanceof OverrideSyntaxError) return error;
  }
  throw new Error(`${text} was parsed.`);
}

describe("override grammar", () => {
  it("knows the four operations", () => {
    expect(parseOverride("a.b=1")).toMatchObject({ op: "set", key: "a.b", value: 1 });
    expect(parseOverride("+a.b=1")).toMatchObject({ op: "add", key: "a.b", value: 1 });
    expect(parseOverride("++a.b=1")).toMatchObject({ op: "force", key: "a.b", value: 1 });
    expect(parseOverride("~a.b=1")).toMatchObject({ op: "remove", key: "a.b", value: 1 });
    expect(parseOverride("~a.b")).toEqual({ op: "remove", key: "a.b", text: "~a.b" });
    expect(parseOverride("a.0.b[2]=x").key).toBe("a.0.b[2]");
  });

  // Public reports, case 83.
  it.each([
    ["a=null", null],
    ["a=NULL", null],
    ["a='null'", "null"],
    ["a=true", true],
    ["a=TrUe", true],
    ['a="true"', "true"],
    ["a=None", "None"],
    ["a=1_000", 1000],
    ["a=", ""],
  ])("reads null, booleans and look-alikes: %s", (text, expected) => {
    expect(value(text)).toBe(expected);
  });

  // Public reports, case 85.
  it.each([
    ['a="baz=qux"', "baz=qux"],
    ["a=a\\=b", "a=b"],
    ["+p=a|b", "a|b"],
    ["+p=C:/x/y", "C:/x/y"],
    ["+foo=['#\\\\', 'x']", ["#\\", "x"]],
    ['+dir="A[B"', "A[B"],
  ])("keeps special characters: %s", (text, expected) => {
    expect(value(text)).toEqual(expected);
  });

  it("points at a quote that is not closed and at a bracket in plain text", () => {
    expect(syntaxError("+foo=['#\\', 'x']").column).toBe(14);
    expect(syntaxError("+dir=A[B")).toMatchObject({ column: 7, message: expect.stringContaining('"["') });
  });

  // Public reports, case 86.
  it.each([
    ["a=1e-6", 1e-6],
    ["a=1E-6", 1e-6],
    ["a=.5", 0.5],
    ["a=-3.", -3],
    ["a=+7", 7],
    ["a=inf", Infinity],
    ["a=-INF", -Infinity],
    ["a=nan", NaN],
    ["a=007", "007"],
    ["a=1e", "1e"],
    ["a=1__0", "1__0"],
    ["a='1e-6'", "1e-6"],
  ])("reads numbers: %s", (text, expected) => {
    expect(value(text)).toBe(expected);
  });

  it.each([
    ["a=[1, b ,'c d',[x],{k:v}]", [1, "b", "c d", ["x"], { k: "v" }]],
    ["a={lr: 1e-6, 'b c': [true,null], n: {}}", { lr: 1e-6, "b c": [true, null], n: {} }],
    ["a= spaced out  ", "spaced out"],
    ["a=${b.c}/x", "${b.c}/x"],
    ["a=[${b},${oc.env:HOME,${c}}]", ["${b}", "${oc.env:HOME,${c}}"]],
    ["a=x\\, y\\ ", "x, y "],
    ["a='it\\'s'", "it's"],
    ["a=~/data/*.parquet", "~/data/*.parquet"],
    ["a={__proto__: 1}", JSON.parse('{"__proto__":1}')],
  ])("reads lists, maps and text: %s", (text, expected) => {
    expect(value(text)).toEqual(expected);
  });

  it.each([
    "a",
    "=1",
    "a=[1",
    "a={a}",
    "a=[1,]",
    "a='x",
    "a=f(1)",
    "a=x=y",
    "a=${b",
    "a b=1",
    "a=]",
    "a=1,2",
    "+",
    `a=${"[".repeat(200)}`,
  ])("rejects %s with a column and a way out", (text) => {
    const { column, message } = syntaxError(text);
    expect(column).toBeGreaterThan(0);
    expect(column).toBeLessThanOrEqual(text.length + 1);
    expect(message).toMatch(/\.$/);
  });

  it("says how to write a list where a sweep was written", () => {
    expect(syntaxError("a=1,2").hint).toContain("[a,b]");
  });

  it("gives back every value that it prints", () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    fc.assert(fc.property(json, (given) => expect(parseValue(printValue(given))).toEqual(given)));
    const nasty = fc.string({
      unit: fc.constantFrom("\\", "'", '"', "$", "{", "}", "[", ",", "=", " ", "a", "1", ":"),
    });
    fc.assert(fc.property(nasty, (given) => expect(parseValue(printValue(given))).toBe(given)));
    fc.assert(fc.property(fc.double(), (given) => expect(parseValue(printValue(given))).toBe(given)));
  });

  it("never fails but by a syntax error", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."ab1.=+~[]{}(),:'\"\\$ \t") }), (text) => {
        try {
          parseOverride(text);
        } catch (error) {
          expect(error).toBeInstanceOf(OverrideSyntaxError);
        }
      }),
    );
  });
});
