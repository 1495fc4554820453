import { GROUP_METRICS, groupedOutcomes, groupRows, outcomeAdvantages, VerlError, type AdvantageEstimator } from "verl";

const EPSILON = 1e-6;

/**
 * Pass@k: only the best answer of a group is rewarded, by its lead over the second best, for one right answer in k is enough.
 *
 *     A_best = (s_1 − s_2) / (std_g + 1e-6)        s_1 ≥ s_2 ≥ …,  A of all others 0
 *
 * Of several best answers the first one is taken; its lead is 0.
 */
export const grpoPassk: AdvantageEstimator = {
  description: "The best answer's lead over the second best of its group; 0 for all others.",
  paper: "Optimizing language models for inference time objectives, arXiv 2503.19595",
  needsGroups: true,
  metrics: GROUP_METRICS,
  departures: [
    "A group of which one answer has a score gets 0; a group that has one answer at all is an error, as in verl.",
  ],
  compute(input, { norm_adv_by_std_in_grpo }, ctx) {
    const grouped = groupedOutcomes(input, ctx);
    const { scores, counted, groups, statistics } = grouped;
    const all = groupRows(input.uid);
    const best = new Int32Array(groups.sizes.length).fill(-1);
    const second = new Float64Array(groups.sizes.length).fill(-Infinity);
    for (let row = 0; row < scores.length; row++) {
      if (counted[row] === 0) continue;
      if (all.sizes[all.of[row]!] === 1) throw lonely(input.uid[row]!);
      const group = groups.of[row]!;
      const leader = best[group]!;
      if (leader < 0 || scores[row]! > scores[leader]!) {
        if (leader >= 0) second[group] = scores[leader]!;
        best[group] = row;
      } else if (scores[row]! > second[group]!) {
        second[group] = scores[row]!;
      }
    }
    const advantages = new Float64Array(scores.length);
    best.forEach((row, group) => {
      if (groups.sizes[group]! < 2) return;
      const lead = scores[row]! - second[group]!;
      advantages[row] = norm_adv_by_std_in_grpo ? lead / (statistics.std[group]! + EPSILON) : lead;
    });
    return outcomeAdvantages(advantages, input, grouped);
  },
};

function lonely(uid: string): VerlError {
  return new VerlError("VERL_ALGORITHM_GROUP", `Pass@k needs at least 2 answers a prompt, but group "${uid}" has 1.`, {
    location: { path: "actor_rollout_ref.rollout.n" },
    hint: "Set actor_rollout_ref.rollout.n to 2 or more.",
  });
}
