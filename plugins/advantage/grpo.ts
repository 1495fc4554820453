import {
  comparedMeans,
  GROUP_METRICS,
  groupedOutcomes,
  lessGroupBaseline,
  outcomeAdvantages,
  type AdvantageEstimator,
} from "verl";

/** Keeps a tiny deviation from making a huge advantage. */
const EPSILON = 1e-6;

/**
 * Group relative policy optimization: an answer is as good as it is better than the other answers to its prompt.
 *
 *     A_{i,t} = (s_i − mean_g) / (std_g + 1e-6)        s_i = Σ_t r_{i,t},  std with n − 1
 *
 * With `norm_adv_by_std_in_grpo: false` the division is left out: Dr. GRPO (arXiv 2503.20783). A group of one keeps its raw score
 * (mean 0, std 1); a group of equal scores gets exactly 0; rows without a score or without tokens are left out, and get 0.
 */
export const grpo: AdvantageEstimator = {
  description: "Score minus the mean of its group, over the group's standard deviation.",
  paper: "DeepSeekMath, arXiv 2402.03300, equation 3; Dr. GRPO: arXiv 2503.20783",
  needsGroups: true,
  metrics: GROUP_METRICS,
  departures: [
    "Equal scores give exactly 0, where float32 rounding gives verl small numbers that an almost zero std blows up.",
    "Rewards behind the response mask are not part of a row's score.",
    "An answer without tokens takes no part in its group's statistics, since nothing of it is trained; verl counts it with a score of 0.",
  ],
  compute(input, { norm_adv_by_std_in_grpo }, ctx) {
    const grouped = groupedOutcomes(input, ctx);
    const { groups, statistics } = grouped;
    const advantages = lessGroupBaseline(grouped, comparedMeans(grouped));
    if (norm_adv_by_std_in_grpo) {
      groups.of.forEach((group, row) => {
        if (group < 0) return;
        advantages[row]! /= (groups.sizes[group] === 1 ? 1 : statistics.std[group]!) + EPSILON;
      });
    }
    return outcomeAdvantages(advantages, input, grouped);
  },
};
