import { VerlError } from "../../errors/verl-error.ts";
import { quotedAlternatives } from "../../registry/nearest.ts";
import type { RolloutCorrectionConfig } from "./config.ts";
import {
  boundedMoments,
  clamp,
  max,
  mean,
  min,
  overTokens,
  rowMeans,
  rowSums,
  shareAbove,
  shareBelow,
  std,
} from "./statistics.ts";
import type { UnmaskedTokens } from "./unmasked-tokens.ts";

/** Bound of log-ratios, so that no exponential overflows. */
export const MAX_LOG_RATIO = 20;

/** Below this a mean of weights is no divisor. */
const MIN_MEAN = 1e-8;

export interface ImportanceWeights {
  /** One weight a token, cut and, where asked for, normalised. */
  weights: Float64Array;
  metrics: Record<string, number>;
}

/**
 * Truncated importance weights (Espeholt et al., arXiv 1802.01561; Yao et al., "Your Efficient RL Framework Secretly Brings You
 * Off-Policy RL Training"): w = min(exp(Δ), C) a token, or w = min(exp(Σ_t Δ_t), C) for all tokens of an answer.
 *
 * Normalised, the cut weights have mean 1: over tokens, or over answers.
 */
export function importanceWeights(
  { logRatio, starts }: UnmaskedTokens,
  level: "token" | "sequence",
  { rollout_is_threshold: threshold, rollout_is_batch_normalize: normalize }: RolloutCorrectionConfig,
): ImportanceWeights {
  const rowLogRatios = level === "sequence" ? rowSums(logRatio, starts) : undefined;
  const ratios = rowLogRatios ? overTokens(ratiosOf(rowLogRatios), starts) : ratiosOf(logRatio);
  const metrics = {
    ...spread(ratios, threshold, rowLogRatios),
    ...overRows(rowMeans(ratios, starts), threshold),
  };
  // In place: the metrics have seen the ratios.
  const weights = ratios;
  for (let i = 0; i < weights.length; i++) weights[i] = Math.min(weights[i]!, threshold);
  if (!normalize) return { weights, metrics };

  const average = mean(rowLogRatios ? rowMeans(weights, starts) : weights);
  const factor = average > MIN_MEAN ? average : 1;
  for (let i = 0; i < weights.length; i++) weights[i]! /= factor;
  return { weights, metrics: { ...metrics, rollout_is_batch_norm_factor: factor } };
}

function ratiosOf(logRatios: Float64Array): Float64Array {
  const ratios = new Float64Array(logRatios.length);
  for (let i = 0; i < ratios.length; i++) ratios[i] = Math.exp(clamp(logRatios[i]!, -MAX_LOG_RATIO, MAX_LOG_RATIO));
  return ratios;
}

/** @throws VERL_ALGORITHM_CONFIG */
export function checkImportanceOptions(config: RolloutCorrectionConfig, path: string): void {
  const { rollout_is: level, rollout_is_threshold: threshold } = config;
  const levels = ["token", "sequence"];
  if (level !== null && !levels.includes(level)) {
    throw new VerlError("VERL_ALGORITHM_CONFIG", `rollout_is is ${JSON.stringify(level)}.`, {
      location: { path: `${path}.rollout_is` },
      hint: `Allowed are ${quotedAlternatives(levels)}, or null for no importance weights.`,
    });
  }
  if (level === null || threshold > 0) return;
  throw new VerlError("VERL_ALGORITHM_CONFIG", `rollout_is_threshold is ${threshold}; it must be positive.`, {
    location: { path: `${path}.rollout_is_threshold` },
    hint: "Importance weights are cut to it; 2 is usual.",
  });
}

/** Of the ratios before they are cut, but for deviation and sample size, which huge ratios would drown. */
function spread(ratios: Float64Array, threshold: number, rowLogs: Float64Array | undefined): Record<string, number> {
  const bounded = boundedMoments(ratios, 1 / threshold, threshold);
  const extremes = rowLogs
    ? {
        // Cut above alone: a tiny ratio is a number like any other.
        rollout_is_max: Math.exp(Math.min(max(rowLogs), MAX_LOG_RATIO)),
        rollout_is_min: Math.exp(Math.min(min(rowLogs), MAX_LOG_RATIO)),
        rollout_is_ratio_fraction_high: shareAbove(rowLogs, Math.log(threshold)),
        rollout_is_ratio_fraction_low: shareBelow(rowLogs, -Math.log(threshold)),
      }
    : {
        rollout_is_max: max(ratios),
        rollout_is_min: min(ratios),
        rollout_is_ratio_fraction_high: shareAbove(ratios, threshold),
        rollout_is_ratio_fraction_low: shareBelow(ratios, 1 / threshold),
      };
  return {
    rollout_is_mean: mean(ratios),
    ...extremes,
    rollout_is_std: Math.sqrt(bounded.variance),
    // Kish's sample size as a share: (E w)² / E w².
    rollout_is_eff_sample_size: bounded.mean ** 2 / (bounded.variance + bounded.mean ** 2),
  };
}

function overRows(ratios: Float64Array, threshold: number): Record<string, number> {
  return {
    rollout_is_seq_mean: mean(ratios),
    rollout_is_seq_std: std(ratios),
    rollout_is_seq_max: max(ratios),
    rollout_is_seq_min: min(ratios),
    rollout_is_seq_max_deviation: max(ratios.map((ratio) => Math.abs(ratio - 1))),
    rollout_is_seq_fraction_high: shareAbove(ratios, threshold),
    rollout_is_seq_fraction_low: shareBelow(ratios, 1 / threshold),
  };
}
