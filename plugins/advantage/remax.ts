import { rewardToGo, tokenField, tokenRuns, type AdvantageEstimator, type NdArray } from "verl";

/**
 * ReMax: the reward of the greedy answer to the same prompt is the baseline.
 *
 *     G_t = Σ_{t' ≥ t} r_t'        A_t = G_t − b
 *
 * A row whose greedy answer has no score takes no part and gets 0; it leaves the losses too.
 */
export const remax: AdvantageEstimator = {
  description: "Reward to go minus the reward of the greedy answer.",
  paper: "ReMax, arXiv 2310.10505, algorithm 1",
  requires: ["reward_baselines"],
  metrics: { "advantage/missing_baselines": "Share of scored rows whose greedy answer has no score." },
  departures: [
    "Advantages and returns are 0 behind the response mask.",
    "A row whose greedy answer has no score takes no part, and leaves the losses; verl has no such rows, for a reward that fails ends its run or counts as 0.",
  ],
  compute(input, _config, ctx) {
    const { response_mask, unscored } = input;
    const baselines = (input["reward_baselines"] as NdArray<"float32">).data;
    const runs = tokenRuns(response_mask);
    const { starts, ends, ofRow } = runs;
    const counted = Uint8Array.from(baselines, (_, row) => (unscored?.[row] || ofRow[row] === ofRow[row + 1] ? 0 : 1));
    const missing = counted.map((scored, row) => (scored && !Number.isFinite(baselines[row]) ? 1 : 0));
    const skip = counted.map((scored, row) => (scored && !missing[row] ? 0 : 1));
    const returns = rewardToGo(input, 1, runs);
    const advantages = tokenField(response_mask.shape, runs, skip);
    const [gains, target] = [returns.data, advantages.data];
    for (let row = 0; row < response_mask.rows; row++) {
      if (skip[row]) continue;
      const baseline = baselines[row]!;
      for (let run = ofRow[row]!; run < ofRow[row + 1]!; run++) {
        for (let at = starts[run]!; at < ends[run]!; at++) target[at] = gains[at]! - baseline;
      }
    }
    const count = (flags: Uint8Array): number => flags.reduce((sum, flag) => sum + flag, 0);
    ctx.metric("advantage/missing_baselines", count(missing) / Math.max(count(counted), 1));
    return { advantages, returns, skipped: missing };
  },
};
