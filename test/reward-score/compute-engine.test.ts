import { expect, it } from "@jest/globals";
import { loadSymbolicEquality } from "../../plugins/reward-score/shared/compute-engine.ts";
import { equivalent, EXACT } from "../../plugins/reward-score/shared/equivalent.ts";

/** A package of that face, which knows one sum. */
const module = {
  ComputeEngine: class {
    timeLimit = Infinity;
    parse(latex: string): object {
      if (latex.includes("\\lim")) throw new Error("out of time");
      const value = latex.startsWith("\\sum") ? "10" : latex;
      return { isValid: true, value, isEqual: (other: { value: string }) => other.value === value };
    }
  },
};

it("asks the optional package about what the parser does not understand, and says so", async () => {
  const names: string[] = [];
  const symbolic = await loadSymbolicEquality((name) => {
    names.push(name);
    return Promise.resolve(module);
  });
  expect(names).toEqual(["@cortex-js/compute-engine"]);
  expect(equivalent("\\sum_{k=1}^{4} k", "10", EXACT, symbolic)).toBe("compute_engine");
  expect(equivalent("\\sum_{k=1}^{4} k", "11", EXACT, symbolic)).toBeUndefined();
  expect(equivalent("0.5", "1/2", EXACT, symbolic)).toBe("equal_number");
});

it("gives it nothing that may not end, and takes its failure for no verdict", async () => {
  const symbolic = (await loadSymbolicEquality(() => Promise.resolve(module)))!;
  for (const text of ["9^{9^9}", "2^{1000}", "x".repeat(201), "\\lim_x x"])
    expect(symbolic(text, text)).toBeUndefined();
});

it("does without it where it is not installed", async () => {
  expect(await loadSymbolicEquality(() => Promise.reject(new Error("not found")))).toBeUndefined();
  expect(equivalent("\\sum_{k=1}^{4} k", "10")).toBeUndefined();
});
