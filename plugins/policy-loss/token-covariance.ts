import { sumOf, tokenRuns, type PolicyLossStep, type TokenRuns } from "verl";

export interface TokenCovariance {
  /** Where the step's tokens stand. */
  readonly runs: TokenRuns;
  /** How many there are. */
  readonly tokens: number;
  /** Covariance of the token at an element of the step's matrices. */
  readonly of: (element: number) => number;
}

/**
 * How far each token's advantage and log-probability lie from their means over the step, multiplied: tokens where this is large are
 * likely ones that were good, and reinforcing them costs the policy the most entropy ("The entropy mechanism of reinforcement learning",
 * arXiv 2505.22617).
 */
export function tokenCovariance(step: PolicyLossStep): TokenCovariance {
  const [advantages, logProbs] = [step.advantages.data, step.log_probs.data];
  const runs = tokenRuns(step.response_mask);
  const { starts, ends } = runs;
  let [tokens, sumOfAdvantages, sumOfLogProbs] = [0, 0, 0];
  for (let run = 0; run < starts.length; run++) {
    tokens += ends[run]! - starts[run]!;
    sumOfAdvantages += sumOf(advantages, starts[run]!, ends[run]!);
    sumOfLogProbs += sumOf(logProbs, starts[run]!, ends[run]!);
  }
  const meanAdvantage = sumOfAdvantages / tokens;
  const meanLogProb = sumOfLogProbs / tokens;
  return { runs, tokens, of: (i) => (advantages[i]! - meanAdvantage) * (logProbs[i]! - meanLogProb) };
}
