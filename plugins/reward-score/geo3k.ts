import type { RewardScore } from "verl";
import { lastBoxed } from "./shared/boxed.ts";
import { symbolicEqualityOnce } from "./shared/compute-engine.ts";
import { EXACT, equivalent } from "./shared/equivalent.ts";
import { grade } from "./shared/grade.ts";
import { MODE_OPTION, truthText, type Extraction, type Mode, type Scored } from "./shared/scored.ts";

interface Options {
  mode?: Mode;
  use_boxed?: boolean;
  format_score?: number;
}

/**
 * Geometry with a thought before the answer.
 *
 *     score = (1 − format_score) · right + format_score · in_form
 */
export const geo3k: RewardScore = {
  description:
    "The last box against the ground truth, and a part of the score for the form `<think>…</think>…\\boxed{…}`.",
  paper: "Geometry3K, arXiv 2105.04165",
  aliases: ["hiyouga/geometry3k"],
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      mode: MODE_OPTION,
      use_boxed: { type: "boolean", default: true, description: "Take the last box; otherwise the whole text." },
      format_score: { type: "number", default: 0.1, minimum: 0, maximum: 1, description: "Weight of the form." },
    },
  },
  departures: [
    "A parser of its own compares formulas, where verl calls mathruler and sympy; in strict mode numbers are compared exactly.",
  ],
  async score({ solution_str, ground_truth, ...options }): Promise<Scored> {
    const { mode = "verl", use_boxed = true, format_score = 0.1 } = options as Options;
    const truth = truthText(ground_truth);
    const found: Extraction = use_boxed ? lastBoxed(solution_str) : { answer: solution_str, by: "whole_text" };
    const format = inForm(solution_str) ? 1 : 0;
    const symbolic = await symbolicEqualityOnce();
    const rule =
      found.answer === null
        ? undefined
        : mode === "verl"
          ? grade(found.answer, truth, { symbolic })
          : equivalent(found.answer, truth, EXACT, symbolic);
    const acc = rule !== undefined;
    return {
      score: (1 - format_score) * Number(acc) + format_score * format,
      acc,
      format,
      extracted: found.answer,
      extracted_by: found.answer === null ? null : found.by,
      matched_rule: rule ?? (found.answer === null ? found.reason : "different"),
    };
  },
};

/** `<think>…</think>…\boxed{…}…` as a whole; the first place of each part suffices, so one pass decides. */
function inForm(text: string): boolean {
  if (!text.startsWith("<think>")) return false;
  let at = "<think>".length;
  for (const part of ["</think>", "\\boxed{", "}"]) {
    const found = text.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return true;
}
