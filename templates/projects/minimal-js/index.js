import { definePlugin, provide } from "verl";

/**
 * 1 for an answer that equals the ground truth, less for one that only begins like it.
 * @type {import("verl").RewardScore}
 */
const rewardScore = {
  description: "The share of the ground truth that the answer begins with.",
  score({ solution_str, ground_truth }) {
    const truth = [...String(ground_truth)];
    const answer = [...solution_str];
    const wrong = truth.findIndex((letter, index) => answer[index] !== letter);
    const right = wrong < 0 ? truth.length : wrong;
    return right / Math.max(truth.length, answer.length, 1);
  },
};

export default definePlugin({
  name: "__name__",
  version: "__version__",
  verl: "__api__",
  provides: [provide("reward_score", "__key__", rewardScore)],
});
