import type { RewardScore } from "verl";
import { lastBoxed, verlBoxed } from "./shared/boxed.ts";
import { symbolicEqualityOnce } from "./shared/compute-engine.ts";
import { EXACT, equivalent } from "./shared/equivalent.ts";
import { MODE_OPTION, truthText, type Mode, type Scored } from "./shared/scored.ts";
import { sameStripped } from "./shared/strip-string.ts";

/** Competition problems: the last box, normalised as the MATH benchmark does. */
export const mathReward: RewardScore = {
  description: "The last `\\boxed{…}`, normalised, against the ground truth; 1 or 0.",
  paper: "MATH, arXiv 2103.03874",
  aliases: ["lighteval/MATH", "DigitalLearningGmbH/MATH-lighteval", "HuggingFaceH4/MATH-500"],
  optionsSchema: { type: "object", additionalProperties: false, properties: { mode: MODE_OPTION } },
  departures: [
    "In strict mode `\\fbox`, thousands commas and equal numbers and formulas in other spellings count, and `%` means what it says; verl compares normalised texts.",
  ],
  async score({ solution_str, ground_truth, mode }): Promise<Scored> {
    const truth = truthText(ground_truth);
    const strict = (mode as Mode | undefined) === "strict";
    const found = strict ? lastBoxed(solution_str) : verlBoxed(solution_str);
    if (found.answer === null)
      return { score: 0, acc: false, extracted: null, extracted_by: null, matched_rule: found.reason };
    const { answer, by } = found;
    const rule = strict
      ? equivalent(answer, truth, EXACT, await symbolicEqualityOnce())
      : sameStripped(answer, truth)
        ? "equal_normalised"
        : undefined;
    const acc = rule !== undefined;
    return { score: acc ? 1 : 0, acc, extracted: answer, extracted_by: by, matched_rule: rule ?? "different" };
  },
};
