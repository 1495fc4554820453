import { describe, expect, it } from "@jest/globals";
import { sources } from "./files.ts";

const LONGEST = 500;

describe("source files", () => {
  it(`have at most ${LONGEST} lines`, () => {
    const all = sources(["core", "plugins", "test", "scripts", "examples", "templates"]);
    const long = all.map(([path, text]) => [path, text.split("\n").length - 1] as const);
    expect(long.filter(([, lines]) => lines > LONGEST)).toEqual([]);
  });

  it("leave no test out and run none alone", () => {
    const call =
      /\b(?:describe|it|test)\.(?:only|skip|todo|failing)\b|(?<![.\w])(?:fdescribe|fit|xdescribe|xit|xtest)\(/;
    const tests = sources(["test", "templates", "examples"], /\.test\.(ts|mjs|js)$/);
    expect(tests.length).toBeGreaterThan(50);
    expect(tests.filter(([, text]) => call.test(text)).map(([path]) => path)).toEqual([]);
  });
});
