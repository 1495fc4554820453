import { groupRows, groupStatistics, outcomes, spreadOverTokens, type AdvantageEstimator } from "verl";

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
  metrics: {
    "advantage/singleton_groups": "Share of groups with one scored row; they keep the raw score.",
    "advantage/equal_groups": "Share of groups whose scores are all equal; they teach nothing.",
  },
  departures: [
    "Equal scores give exactly 0, where float32 rounding gives verl small numbers that an almost zero std blows up.",
    "Rewards behind the response mask are not part of a row's score.",
  ],
  compute(input, { norm_adv_by_std_in_grpo }, ctx) {
    const { scores, counted } = outcomes(input);
    const groups = groupRows(input.uid, counted);
    const { mean, std } = groupStatistics(scores, groups);
    const advantages = new Float64Array(scores.length);
    for (let row = 0; row < advantages.length; row++) {
      const group = groups.of[row]!;
      if (group < 0) continue;
      const alone = groups.sizes[group] === 1;
      const centred = scores[row]! - (alone ? 0 : mean[group]!);
      advantages[row] = norm_adv_by_std_in_grpo ? centred / ((alone ? 1 : std[group]!) + EPSILON) : centred;
    }
    const share = (test: (size: number, group: number) => boolean): number =>
      groups.sizes.filter(test).length / Math.max(groups.sizes.length, 1);
    ctx.metric(
      "advantage/singleton_groups",
      share((size) => size === 1),
    );
    ctx.metric(
      "advantage/equal_groups",
      share((size, group) => size > 1 && std[group] === 0),
    );
    const spread = spreadOverTokens(advantages, input.response_mask);
    return { advantages: spread, returns: spread };
  },
};
