import { describe, expect, it } from "@jest/globals";
import { mathDapo } from "../../plugins/reward-score/math-dapo.ts";
import { normalizeFinalAnswer } from "../../plugins/reward-score/shared/final-answer.ts";
import { scored, STRICT } from "./score.ts";

describe("math_dapo, as verl", () => {
  // Found by running verl's own scorer.
  it.each([
    ["Answer: 42", "42", 1, "42"],
    ["answer : $42$", "42", 1, "42"],
    ["Answer: \\boxed{42}", "42", 1, "42"],
    ["\\boxed{42}", "42", -1, "[INVALID]"],
    ["Answer: 1,000", "1000", 1, "1000"],
    ["Answer: x = 5", "5", 1, "5"],
    ["Answer: 5 cm", "5", 1, "5"],
    ["Answer: \\frac12", "\\frac{1}{2}", 1, "\\frac{1}{2}"],
    ["Answer: 1\nAnswer: 2", "2", 1, "2"],
    [`Answer: 1${" ".repeat(300)}`, "1", -1, "[INVALID]"],
    ["Answer: \\text{a and b}", "a and b", 1, "andb"],
    ["ANSWER:  7 degrees", "7", 1, "7"],
    ["Final Answer: 12.", "12", -1, "12."],
    ["Answer: \\sqrt3", "\\sqrt{3}", 1, "\\sqrt{3}"],
    ["Answer: 50%", "50%", 1, "50%"],
  ])("%j against %s", async (text, truth, score, pred) => {
    expect(await scored(mathDapo, text, truth)).toMatchObject({ score, acc: score === 1, pred });
  });

  it("takes the box alone, and near the end alone, with strict_box_verify", async () => {
    const options = { strict_box_verify: true };
    expect(await scored(mathDapo, "x \\boxed{7}", "7", options)).toMatchObject({ score: 1, pred: "7" });
    const far = `\\boxed{7}${"y".repeat(100)}`;
    expect(await scored(mathDapo, far, "7", options)).toMatchObject({ score: -1, pred: null, matched_rule: "no_box" });
  });

  it.each([
    ["an apple", "apple"],
    ["a $5$ b", "5"],
    ["\\text{and}", ","],
    ["12,345", "12345"],
    ["1,2", "12"],
    ["x=y=3", "3"],
    ["\\fracab", "\\frac{a}{b}"],
    ["5\\text{ m}", "5"],
    ["\\$5.$", "5"],
    ["\\textbf{x} \\overline{AB}", "xAB"],
  ])("normalises %s to %s", (text, normalised) => {
    expect(normalizeFinalAnswer(text)).toBe(normalised);
  });
});

describe("math_dapo, strict", () => {
  it.each([
    ["\\boxed{42}", "42"],
    ["Answer: -1,234", "-1234"],
    ["Final Answer: 12.", "12"],
    [`Answer: $\\boxed{\\frac{1}{2}}$\n${"Checked. ".repeat(50)}`, "0.5"],
    ["Answer: **7**", "7"],
    ["**Answer:** 7", "7"],
    ["**Answer**: $7$.", "7"],
  ])("%j is %s", async (text, truth) => {
    expect(await scored(mathDapo, text, truth, STRICT)).toMatchObject({ score: 1, acc: true });
  });

  it.each([
    ["Answer: 1,2", "12"],
    ["Answer: \\boxed{1", "1"],
    ["no answer", "1"],
  ])("%j is not %s", async (text, truth) => {
    expect(await scored(mathDapo, text, truth, STRICT)).toMatchObject({ score: -1, acc: false });
  });
});
