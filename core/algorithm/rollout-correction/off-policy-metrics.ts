import { MAX_LOG_RATIO } from "./importance-weights.ts";
import { clamp, max, mean, min } from "./statistics.ts";
import type { RolloutCorrectionInput, UnmaskedTokens } from "./unmasked-tokens.ts";

/** Exponents of perplexities and of k3 are cut to this: no metric is infinite, in float32 either. */
const MAX_EXPONENT = 70;

/**
 * How far the sampler's policy lies from the trainer's, over unmasked tokens and rows that have any. Perplexities are of each row's
 * mean log-prob, then averaged over rows; `kl` is the mean of log π_rollout − log π_train, `k3_kl` the estimate of lower variance,
 * `chi2` the χ² divergence by token and by answer.
 */
export function offPolicyMetrics(
  { old_log_probs, rollout_log_probs }: Pick<RolloutCorrectionInput, "old_log_probs" | "rollout_log_probs">,
  { logRatio, at, starts }: UnmaskedTokens,
): Record<string, number> {
  const rows = starts.length - 1;
  const training = new Float64Array(rows);
  const rollout = new Float64Array(rows);
  const chi2 = new Float64Array(rows);
  let [k3, squares] = [0, 0];
  for (let row = 0; row < rows; row++) {
    const [start, end] = [starts[row]!, starts[row + 1]!];
    let [trained, sampled, sum] = [0, 0, 0];
    for (let i = start; i < end; i++) {
      const log = logRatio[i]!;
      trained -= old_log_probs.data[at[i]!]!;
      sampled -= rollout_log_probs.data[at[i]!]!;
      sum += log;
      k3 += Math.expm1(Math.min(log, MAX_EXPONENT)) - log;
      squares += squaredRatio(log);
    }
    training[row] = trained / (end - start);
    rollout[row] = sampled / (end - start);
    chi2[row] = squaredRatio(sum);
  }
  const difference = training.map((value, row) => value - rollout[row]!);
  return {
    training_ppl: mean(training.map(boundedExp)),
    training_log_ppl: mean(training),
    kl: -mean(logRatio),
    k3_kl: k3 / logRatio.length,
    rollout_ppl: mean(rollout.map(boundedExp)),
    rollout_log_ppl: mean(rollout),
    log_ppl_diff: mean(difference),
    log_ppl_abs_diff: mean(difference.map(Math.abs)),
    log_ppl_diff_max: max(difference),
    log_ppl_diff_min: min(difference),
    ppl_ratio: mean(difference.map(boundedExp)),
    chi2_token: squares / logRatio.length - 1,
    chi2_seq: mean(chi2) - 1,
  };
}

const squaredRatio = (log: number): number => Math.exp(2 * clamp(log, -MAX_LOG_RATIO, MAX_LOG_RATIO));

const boundedExp = (exponent: number): number => Math.exp(Math.min(exponent, MAX_EXPONENT));
