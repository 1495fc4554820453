import type { NdArray } from "../batch/nd-array.ts";

/**
 * How far the sampler's log-probs lie from the trainer's on the same weights, over unmasked response tokens. verl's names and
 * definitions (absolute difference of probabilities, std with ddof 1; Pearson's r only where both sides vary), and the largest
 * difference of log-probs.
 */
export function logProbGap(
  rollout: NdArray<"float32">,
  trainer: NdArray<"float32">,
  responseMask: NdArray<"int32">,
): Record<string, number> {
  const at = Uint32Array.from(responseMask.data.keys()).filter((index) => responseMask.data[index] !== 0);
  if (at.length === 0) return { "training/rollout_probs_diff_valid": 0 };
  const sampled = Float64Array.from(at, (index) => Math.exp(rollout.data[index]!));
  const recomputed = Float64Array.from(at, (index) => Math.exp(trainer.data[index]!));
  const gaps = sampled.map((value, index) => Math.abs(value - recomputed[index]!));
  const metrics: Record<string, number> = {
    "training/rollout_probs_diff_valid": 1,
    "training/rollout_probs_diff_mean": mean(gaps),
    "training/rollout_probs_diff_max": gaps.reduce((max, gap) => Math.max(max, gap), 0),
    "training/rollout_probs_diff_std": Math.sqrt(covariance(gaps, gaps)),
    "training/rollout_logprobs_diff_max": at.reduce(
      (max, index) => Math.max(max, Math.abs(rollout.data[index]! - trainer.data[index]!)),
      0,
    ),
  };
  const spread = Math.sqrt(covariance(sampled, sampled) * covariance(recomputed, recomputed));
  if (spread > 0) metrics["training/rollout_actor_probs_pearson_corr"] = covariance(sampled, recomputed) / spread;
  return metrics;
}

function mean(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** With ddof 1; 0 for a single value. */
function covariance(left: Float64Array, right: Float64Array): number {
  const [leftMean, rightMean] = [mean(left), mean(right)];
  const sum = left.reduce((total, value, index) => total + (value - leftMean) * (right[index]! - rightMean), 0);
  return left.length > 1 ? sum / (left.length - 1) : 0;
}
