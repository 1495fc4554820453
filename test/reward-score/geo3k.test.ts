import { expect, it } from "@jest/globals";
import { geo3k } from "../../plugins/reward-score/geo3k.ts";
import { scored, STRICT } from "./score.ts";

const IN_FORM = "<think>\nlines\n</think>\nso \\boxed{2 \\sqrt{3}}.";

it.each([
  [IN_FORM, "2\\sqrt{3}", 1, 1],
  [IN_FORM, "2\\sqrt{5}", 0.1, 1],
  [`x${IN_FORM}`, "\\sqrt{12}", 0.9, 0],
  ["<think></think> 5", "5", 0, 0],
  ["</think><think>\\boxed{5}", "5", 0.9, 0],
])("%j against %s", async (text, truth, score, format) => {
  for (const options of [{}, STRICT]) {
    const result = await scored(geo3k, text, truth, options);
    expect(result.score).toBeCloseTo(score, 12);
    expect(result.format).toBe(format);
  }
});

it("weighs the form as told, and takes the whole text where there is no box to take", async () => {
  const options = { format_score: 0.5, use_boxed: false };
  expect(await scored(geo3k, "5", "5", options)).toMatchObject({ score: 0.5, extracted_by: "whole_text" });
});
