import {
  checkAdvantageInput,
  notFinite,
  tokenField,
  tokenRuns,
  whitenTokens,
  type AdvantageEstimator,
  type NdArray,
} from "verl";

/**
 * Generalized advantage estimation: how much better a token turned out than the critic expected.
 *
 *     δ_t = r_t + γ V_{t'} − V_t        A_t = δ_t + γ λ A_{t'}        returns_t = A_t + V_t
 *
 * t' is the next token of the model, so observations in between are jumped over. Advantages are whitened over all tokens of the batch.
 */
export const gae: AdvantageEstimator = {
  description: "Exponentially weighted temporal differences of a critic's values, whitened over the batch.",
  paper: "GAE, arXiv 1506.02438, equation 16",
  requires: ["values"],
  departures: [
    "Advantages and returns are 0 behind the response mask; verl leaves whitened zeros and values there.",
    "A batch of fewer than two unmasked tokens gets 0; verl raises.",
  ],
  compute(input, { gamma, lam }) {
    checkAdvantageInput(input);
    const { token_level_rewards, response_mask, unscored } = input;
    const values = (input["values"] as NdArray<"float32">).data;
    const rewards = token_level_rewards.data;
    const runs = tokenRuns(response_mask);
    const { starts, ends, ofRow } = runs;
    const advantages = tokenField(response_mask.shape, runs, unscored);
    const returns = tokenField(response_mask.shape, runs, unscored);
    const decay = gamma * lam;
    for (let row = 0; row < response_mask.rows; row++) {
      if (unscored?.[row]) continue;
      let nextValue = 0;
      let advantage = 0;
      let total = 0;
      for (let run = ofRow[row + 1]! - 1; run >= ofRow[row]!; run--) {
        for (let at = ends[run]! - 1; at >= starts[run]!; at--) {
          const value = values[at]!;
          advantage = rewards[at]! + gamma * nextValue - value + decay * advantage;
          nextValue = value;
          advantages.data[at] = advantage;
          returns.data[at] = advantage + value;
          total += advantage;
        }
      }
      if (!Number.isFinite(total)) throw notFinite("advantage", total, row);
    }
    whitenTokens(advantages.data, runs, unscored, advantages.data);
    return { advantages, returns };
  },
};
