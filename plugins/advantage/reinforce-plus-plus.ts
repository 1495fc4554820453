import { rewardToGo, tokenField, tokenRuns, whitenTokens, type AdvantageEstimator } from "verl";

/**
 * REINFORCE++: discounted reward to go, whitened over all tokens of the batch; no critic, no groups.
 *
 *     G_t = r_t + γ G_{t'}        A = (G − mean) / √(var + 1e-8)
 *
 * t' is the next token of the model: a reward reaches what was written before a tool's answer, and only the model's tokens count as steps.
 */
export const reinforcePlusPlus: AdvantageEstimator = {
  description: "Discounted reward to go, whitened over the batch.",
  paper: "REINFORCE++, arXiv 2501.03262",
  departures: [
    "Returns are carried across observation tokens; verl sets them to 0 there, and the reward is lost to earlier turns.",
    "Returns are 0 behind the response mask.",
  ],
  compute(input, { gamma }) {
    const runs = tokenRuns(input.response_mask);
    const returns = rewardToGo(input, gamma, runs);
    const advantages = tokenField(returns.shape, runs, input.unscored);
    whitenTokens(returns.data, runs, input.unscored, advantages.data);
    return { advantages, returns };
  },
};
