import { describe, expect, it } from "@jest/globals";
import { schemaPattern } from "../../core/config/schema-pattern.ts";
import { compileParameters } from "../../core/config/tool-parameters.ts";

describe("patterns of a schema", () => {
  it.each([
    ["^\\d{3}$", "123", "1234"],
    ["^[\\w.-]+@[\\w-]+$", "a.b@c", "a b@c"],
    ["\\u0041[\\u4e00-\\u9fff]", "xA北", "xB北"],
    ["^\\/(?<name>\\p{L}+)$", "/é", "é"],
  ])("%s fits as in JavaScript", (pattern, fitting, other) => {
    expect([fitting, other].map((text) => schemaPattern(pattern)!.test(text))).toEqual([true, false]);
    expect([fitting, other].map((text) => new RegExp(pattern, "u").test(text))).toEqual([true, false]);
  });

  it("are not known where they look around or back, or repeat without reason: any text fits", () => {
    for (const pattern of ["^(?!x)", "(a)\\1", "a{2000}"]) expect(schemaPattern(pattern)).toBeUndefined();
    const validate = compileParameters({ type: "object", properties: { a: { type: "string", pattern: "^(?!x)" } } });
    expect(validate({ a: "x" })).toBe(true);
  });

  it("throw for what is none", () => expect(() => schemaPattern("(")).toThrow(SyntaxError));

  it("stall no validation, whoever made them", () => {
    const validate = compileParameters({ type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } });
    const start = process.cpuUsage();
    expect(validate({ a: "a".repeat(40) })).toBe(true);
    expect(validate({ a: `${"a".repeat(40)}!` })).toBe(false);
    const { user, system } = process.cpuUsage(start);
    expect(user + system).toBeLessThan(1_000_000);
  });
});
