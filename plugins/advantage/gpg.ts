import {
  comparedMeans,
  GROUP_METRICS,
  groupedOutcomes,
  lessGroupBaseline,
  outcomeAdvantages,
  type AdvantageEstimator,
} from "verl";

/**
 * Group policy gradient: centred scores, scaled up by the share of answers that scored at all, so that a batch of mostly zero rewards
 * still moves the policy.
 *
 *     A_i = α (s_i − mean_g)        α = rows / (rows whose score is not 0)
 *
 * A group of one keeps its raw score, times α. Pair it with the policy loss `gpg`.
 */
export const gpg: AdvantageEstimator = {
  description: "Score minus the mean of its group, scaled by how rare non-zero scores are.",
  paper: "GPG, arXiv 2504.02546",
  needsGroups: true,
  metrics: { ...GROUP_METRICS, "advantage/gpg_scale": "α: scored rows over those whose score is not 0." },
  departures: ["Unscored rows count neither above nor below in α; scored rows without tokens count above, as in verl."],
  compute(input, _config, ctx) {
    const grouped = groupedOutcomes(input, ctx);
    const scored = grouped.scores.length - (input.unscored?.reduce((sum, missing) => sum + missing, 0) ?? 0);
    const telling = grouped.scores.reduce((sum, score) => sum + (score === 0 ? 0 : 1), 0);
    const scale = scored / Math.max(telling, 1);
    ctx.metric("advantage/gpg_scale", scale);
    const centred = lessGroupBaseline(grouped, comparedMeans(grouped));
    return outcomeAdvantages(
      centred.map((value) => value * scale),
      input,
      grouped,
    );
  },
};
