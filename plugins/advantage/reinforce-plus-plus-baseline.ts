import {
  comparedMeans,
  GROUP_METRICS,
  groupedOutcomes,
  lessGroupBaseline,
  outcomeAdvantages,
  whitenByTokens,
  type AdvantageEstimator,
} from "verl";

/**
 * REINFORCE++ with a group baseline: centred in the group, scaled by the whole batch, so that an easy prompt's small differences are
 * not blown up.
 *
 *     a_i = s_i − mean_g        A = (a − mean) / √(var + 1e-8) over all unmasked tokens of the batch
 *
 * A group of one enters with its raw score.
 */
export const reinforcePlusPlusBaseline: AdvantageEstimator = {
  description: "Score minus the mean of its group, whitened over the tokens of the batch.",
  paper: "REINFORCE++, arXiv 2501.03262",
  needsGroups: true,
  metrics: GROUP_METRICS,
  departures: [
    "A batch of fewer than two unmasked tokens gets 0; verl raises.",
    "An answer without tokens takes no part in its group's statistics, since nothing of it is trained; verl counts it with a score of 0.",
  ],
  compute(input, _config, ctx) {
    const grouped = groupedOutcomes(input, ctx);
    const centred = lessGroupBaseline(grouped, comparedMeans(grouped));
    return outcomeAdvantages(whitenByTokens(centred, grouped.lengths, grouped.counted), input, grouped);
  },
};
