import { GROUP_METRICS, groupedOutcomes, outcomeAdvantages, type AdvantageEstimator } from "verl";

/**
 * The baseline of an answer is the mean of the other answers to its prompt, so it does not depend on the answer.
 *
 *     A_i = s_i − mean of the others = (s_i − mean_g) · n / (n − 1)
 *
 * A group of one keeps its raw score; rows without a score get 0.
 */
export const advEstimator: AdvantageEstimator = {
  description: "Score minus the mean of the other answers to the same prompt.",
  paper: "Back to basics, arXiv 2402.14740",
  needsGroups: true,
  metrics: GROUP_METRICS,
  compute(input, _config, ctx) {
    const grouped = groupedOutcomes(input, ctx);
    const { scores, groups, statistics } = grouped;
    const advantages = scores.map((score, row) => {
      const group = groups.of[row] ?? -1;
      if (group < 0) return 0;
      const [size = 1, mean = 0] = [groups.sizes[group], statistics.mean[group]];
      return size === 1 ? score : ((score - mean) * size) / (size - 1);
    });
    return outcomeAdvantages(advantages, input, grouped);
  },
};
