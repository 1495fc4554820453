import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { gsm8k } from "../../plugins/reward-score/gsm8k.ts";
import { scored, STRICT } from "./score.ts";

describe("gsm8k, as verl", () => {
  // Extraction by both methods, score, and score with format_score 0.1; found by running verl's own scorer against "42".
  it.each([
    ["#### 42", "42", "42", 1, 1],
    ["#### 42.", "42.", "42.", 0, 0.1],
    ["####42", null, "42", 0, 0],
    ["#### -1,234", "-1234", "-1,234", 0, 0.1],
    ["#### $5", null, "5", 0, 0],
    ["The answer is 7", null, "7", 0, 0],
    ["x 3. and 4.", null, "4.", 0, 0],
    ["a , . b", null, ",", 0, 0],
    ["#### 1\n#### 2", "2", "2", 0, 0.1],
    ["no", null, null, 0, 0],
    [`#### 1${"x".repeat(300)}`, null, null, 0, 0],
    ["#### ,", "", ",", 0, 0.1],
    ["#### 3.50", "3.50", "3.50", 0, 0.1],
  ])("%j", async (text, strict, flexible, score, formatScore) => {
    expect(await scored(gsm8k, text, "42")).toMatchObject({ extracted: strict, score, acc: score === 1 });
    expect(await scored(gsm8k, text, "42", { format_score: 0.1 })).toMatchObject({ score: formatScore });
    expect(await scored(gsm8k, text, "42", { method: "flexible" })).toMatchObject({ extracted: flexible });
  });

  it("counts characters as Python does", async () => {
    expect(await scored(gsm8k, `#### 42${"😀".repeat(290)}`, "42")).toMatchObject({ score: 1 });
  });
});

describe("gsm8k, strict", () => {
  it.each([
    [`6*7=42\n#### 42\n${"Checked again. ".repeat(30)}`, "42", "42"],
    ["profit\n#### $1,800.", "1800", "1800"],
    ["profit\n#### 1,800.", "1800", "1800"],
    ["####42", "42", "42"],
    ["#### **-3.50**", "-3.5", "-3.50"],
    ["#### -$5", "-5", "-5"],
    ["#### 007", "7", "007"],
    ["#### 12 apples", "12", "12"],
    ["#### −5", "-5", "-5"],
    ["#### +5", "5", "5"],
    ["#### €1,000", "1000", "1000"],
    ["#### \\boxed{5}", "5", "5"],
    ["#### \\(5\\)", "5", "5"],
    ["#### `5`", "5", "5"],
    ["####: 5", "5", "5"],
    ["#### 5 ####", "5", "5"],
    ["#### 5\n####\n", "5", "5"],
  ])("%j is %s", async (text, truth, extracted) => {
    expect(await scored(gsm8k, text, truth, STRICT)).toMatchObject({ extracted, score: 1, extracted_by: "hash_marks" });
  });

  it.each([
    ["#### 42 and 43", "43"],
    ["#### 1800.5", "1800"],
    ["#### -42", "42"],
    ["#### none, but 42", "42"],
    ["42", "42"],
    ["#### 5/6", "5"],
    ["#### 10:30", "10"],
    ["#### 2 * 3 = 6", "2"],
    ["#### 1e3", "1"],
    ["#### 1_000", "1"],
    ["#### 1,80", "180"],
    ["#### 5\n#### none", "5"],
  ])("%j is not %s", async (text, truth) => {
    expect(await scored(gsm8k, text, truth, STRICT)).toMatchObject({ score: 0, acc: false });
  });

  it.each([
    ["so 3, 4", "4"],
    ["it costs $1,234.50.", "1234.5"],
    ["10-3", "3"],
    ["it is -3", "-3"],
  ])("flexible: the last number of %j is %s", async (text, truth) => {
    expect(await scored(gsm8k, text, truth, { ...STRICT, method: "flexible" })).toMatchObject({ score: 1 });
  });

  it("finds any number again, however it is written", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.constantFrom("", ".", ".0", " units"), async (number, end) => {
        const text = `#### ${number.toLocaleString("en-US")}${end}`;
        expect(await scored(gsm8k, text, String(number), STRICT)).toMatchObject({ score: 1 });
        expect(await scored(gsm8k, text, String(number + 1), STRICT)).toMatchObject({ score: 0 });
      }),
      { numRuns: 100 },
    );
  });
});

it("takes a number as ground truth, and nothing else than text", async () => {
  expect(await scored(gsm8k, "#### 42", 42)).toMatchObject({ score: 1, matched_rule: "equal_text" });
  await expect(async () => scored(gsm8k, "#### 42", { target: 42 })).rejects.toThrow("object, not a string or number");
});
