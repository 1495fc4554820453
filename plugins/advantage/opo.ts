import { GROUP_METRICS, groupedOutcomes, lessGroupBaseline, outcomeAdvantages, type AdvantageEstimator } from "verl";

/**
 * On-policy optimization with the baseline that minimises the gradient's variance, where a long answer weighs more.
 *
 *     A_i = s_i − Σ_j len_j s_j / Σ_j len_j        len: unmasked tokens
 *
 * A group of one keeps its raw score.
 */
export const opo: AdvantageEstimator = {
  description: "Score minus the length-weighted mean score of its group.",
  paper: "On-policy RL with optimal reward baseline, arXiv 2505.23585",
  needsGroups: true,
  metrics: GROUP_METRICS,
  departures: ["A group without tokens gets 0; verl divides 0 by 0."],
  compute(input, _config, ctx) {
    const grouped = groupedOutcomes(input, ctx);
    const { scores, lengths, groups, statistics } = grouped;
    const tokens = new Float64Array(groups.sizes.length);
    const baseline = new Float64Array(groups.sizes.length);
    groups.of.forEach((group, row) => {
      if (group < 0) return;
      tokens[group]! += lengths[row]!;
      baseline[group]! += lengths[row]! * (scores[row]! - statistics.mean[group]!);
    });
    // Summed as distances from the mean, so that equal scores give exactly 0.
    baseline.forEach((sum, group) => {
      baseline[group] = groups.sizes[group] === 1 ? 0 : statistics.mean[group]! + sum / tokens[group]!;
    });
    return outcomeAdvantages(lessGroupBaseline(grouped, baseline), input, grouped);
  },
};
