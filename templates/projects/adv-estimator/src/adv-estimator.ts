import {
  comparedMeans,
  GROUP_METRICS,
  groupedOutcomes,
  lessGroupBaseline,
  outcomeAdvantages,
  type AdvantageEstimator,
} from "verl";

/**
 * An answer is as good as it is better than the mean of its group, but no answer counts for more than `bound`.
 *
 *     A_i = clip(s_i − mean_g, −bound, bound)        s_i: sum of the answer's token-level rewards
 *
 * A group of one keeps its raw score; rows without a score get 0.
 */
export const advEstimator: AdvantageEstimator = {
  description: "Score minus the mean of its group, kept within bounds.",
  needsGroups: true,
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      bound: { type: "number", exclusiveMinimum: 0, default: 1, description: "Largest size of an advantage." },
    },
  },
  metrics: { ...GROUP_METRICS, "advantage/bounded": "Share of answers whose advantage was cut." },
  compute(input, { adv_kwargs }, ctx) {
    const { bound } = adv_kwargs as { bound: number };
    const grouped = groupedOutcomes(input, ctx);
    const advantages = lessGroupBaseline(grouped, comparedMeans(grouped));
    const cut = advantages.filter((advantage) => Math.abs(advantage) > bound).length;
    ctx.metric("advantage/bounded", cut / Math.max(1, grouped.counted.filter(Boolean).length));
    return outcomeAdvantages(
      advantages.map((advantage) => Math.min(bound, Math.max(-bound, advantage))),
      input,
      grouped,
    );
  },
};
