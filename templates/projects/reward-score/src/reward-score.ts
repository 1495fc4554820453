import type { RewardScore } from "verl";

/**
 * The share of letters that stand in their place, so that an almost right answer is worth more than a wrong one.
 *
 *     score = (equal letters / length of the longer text) ^ sharpness
 *
 * It returns parts beside the score: each number becomes a metric of the run.
 */
export const rewardScore: RewardScore = {
  description: "The share of letters of the ground truth that stand in their place.",
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      sharpness: {
        type: "number",
        exclusiveMinimum: 0,
        default: 1,
        description: "Power of the share; above 1 it asks for more.",
      },
    },
  },
  score({ solution_str, ground_truth, sharpness }) {
    // Letters, not UTF-16 units: an emoji is one.
    const [answer, truth] = [[...solution_str.trim()], [...String(ground_truth)]];
    const right = truth.filter((letter, index) => answer[index] === letter).length;
    const share = right / Math.max(answer.length, truth.length, 1);
    return { score: share ** Number(sharpness ?? 1), exact: right === truth.length && right === answer.length };
  },
};
