import { NdArray, rewardToGo, tokenRuns, type AdvantageEstimator } from "verl";

/**
 * ReMax: the reward of the greedy answer to the same prompt is the baseline.
 *
 *     G_t = Σ_{t' ≥ t} r_t'        A_t = G_t − b
 *
 * A row whose greedy answer has no score takes no part and gets 0.
 */
export const remax: AdvantageEstimator = {
  description: "Reward to go minus the reward of the greedy answer.",
  paper: "ReMax, arXiv 2310.10505, algorithm 1",
  requires: ["reward_baselines"],
  metrics: { "advantage/missing_baselines": "Share of scored rows whose greedy answer has no score." },
  departures: ["Advantages and returns are 0 behind the response mask."],
  compute(input, _config, ctx) {
    const { response_mask, unscored } = input;
    const baselines = (input["reward_baselines"] as NdArray<"float32">).data;
    const { starts, ends, ofRow } = tokenRuns(response_mask);
    const returns = rewardToGo(input, 1, { starts, ends, ofRow });
    const advantages = NdArray.zeros("float32", response_mask.shape);
    let counted = 0;
    let missing = 0;
    for (let row = 0; row < response_mask.rows; row++) {
      if (unscored?.[row] || ofRow[row] === ofRow[row + 1]) continue;
      counted++;
      const baseline = baselines[row]!;
      if (!Number.isFinite(baseline)) {
        missing++;
        continue;
      }
      for (let run = ofRow[row]!; run < ofRow[row + 1]!; run++) {
        for (let at = starts[run]!; at < ends[run]!; at++) advantages.data[at] = returns.data[at]! - baseline;
      }
    }
    ctx.metric("advantage/missing_baselines", missing / Math.max(counted, 1));
    return { advantages, returns };
  },
};
