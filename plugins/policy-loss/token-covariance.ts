import { maskedMean, NdArray, type PolicyLossStep } from "verl";

/**
 * How far each token's advantage and log-probability lie from their means over the step, multiplied: tokens where this is large are
 * likely ones that were good, and reinforcing them costs the policy the most entropy ("The Entropy Mechanism of Reinforcement Learning",
 * arXiv 2505.22617, equation 10). −∞ behind the mask.
 */
export function tokenCovariance(step: PolicyLossStep): Float64Array {
  const [advantages, logProbs] = [step.advantages.data, step.log_probs.data];
  const mask = step.response_mask.data as ArrayLike<number>;
  const meanAdvantage = maskedMean(advantages, mask);
  const meanLogProb = maskedMean(logProbs, mask);
  const covariance = new Float64Array(advantages.length);
  for (let i = 0; i < covariance.length; i++) {
    covariance[i] = mask[i] === 0 ? -Infinity : (advantages[i]! - meanAdvantage) * (logProbs[i]! - meanLogProb);
  }
  return covariance;
}

/** A field of the step's shape that holds 1 at the elements for which `isMarked` is true. */
export function markTokens(step: PolicyLossStep, isMarked: (element: number) => boolean): NdArray<"float32"> {
  const marks = NdArray.zeros("float32", step.advantages.shape);
  for (let i = 0; i < marks.data.length; i++) if (isMarked(i)) marks.data[i] = 1;
  return marks;
}
