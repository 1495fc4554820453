import { GROUP_METRICS, groupedOutcomes, outcomeAdvantages, type AdvantageEstimator } from "verl";

/**
 * REINFORCE leave-one-out: each answer's baseline is the mean of the others, which makes it independent of the answer.
 *
 *     A_i = s_i − mean of the others of the group = (s_i − mean_g) · n / (n − 1)
 *
 * A group of one keeps its raw score.
 */
export const rloo: AdvantageEstimator = {
  description: "Score minus the mean of the other answers to the same prompt.",
  paper: "Back to basics, arXiv 2402.14740",
  needsGroups: true,
  metrics: GROUP_METRICS,
  departures: [
    "Rewards behind the response mask are not part of a row's score.",
    "An answer without tokens takes no part in its group's statistics, since nothing of it is trained; verl counts it with a score of 0.",
  ],
  compute(input, _config, ctx) {
    const grouped = groupedOutcomes(input, ctx);
    const { scores, groups, statistics } = grouped;
    const advantages = scores.map((score, row) => {
      const group = groups.of[row]!;
      if (group < 0) return 0;
      const size = groups.sizes[group]!;
      return size === 1 ? score : ((score - statistics.mean[group]!) * size) / (size - 1);
    });
    return outcomeAdvantages(advantages, input, grouped);
  },
};
