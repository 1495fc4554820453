import * as tf from "@tensorflow/tfjs";
import {
  Largest,
  NdArray,
  preparedField,
  selectUnmasked,
  type PolicyLoss,
  type PolicyLossConfig,
  type PolicyLossStep,
  withoutGradient,
} from "verl";
import { fused } from "./fused.ts";
import { tokenCovariance } from "./token-covariance.ts";

/** Bounds of the log-ratio, so that no exponential overflows. */
const MAX_LOG_RATIO = 70;

/** Field that `prepare` adds: 1 for the tokens that pay the KL penalty. */
const PENALIZED = "kl_cov_tokens";

/**
 * KL-Cov: importance-weighted policy gradient, with a KL penalty on the few tokens whose covariance of advantage and log-probability is
 * highest: they are the ones that use up the policy's entropy.
 *
 *     cov_t = (A_t − mean A)(log π_t − mean log π)
 *     L = −A ρ + β |log π_θ − log π_old| · [t among the max(⌊ratio · tokens⌋, 1) highest]
 */
export const klCov: PolicyLoss = {
  description: "Unclipped surrogate loss with a KL penalty on tokens that cost the policy its entropy.",
  paper: "The entropy mechanism of reinforcement learning, arXiv 2505.22617, equations 14 and 15",
  aliases: ["kl-cov"],
  metrics: { "actor/ppo_kl": "Mean of |log π_old − log π_θ|." },
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      kl_cov_ratio: {
        type: "number",
        exclusiveMinimum: 0,
        maximum: 1,
        default: 0.0002,
        description: "Share of the step's tokens that pay the penalty.",
      },
      ppo_kl_coef: { type: "number", minimum: 0, default: 0.1, description: "Weight of the penalty." },
    },
  },
  departures: [
    "Means and the highest tokens are the optimizer step's, not each micro-batch's, so that no split changes the loss.",
    "Log-ratios are cut at ±70, so that nothing overflows.",
  ],
  prepare: (step, config) => ({ [PENALIZED]: highest(step, config) }),
  compute(input, config, agg) {
    const marks = preparedField(klCov, PENALIZED, input, config);
    const kernel = fused("kl_cov", input, agg, [undefined, undefined, "actor/ppo_kl"], {
      first: config.policy_loss["ppo_kl_coef"] as number,
      marks,
    });
    if (kernel) return kernel;
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const penalized = inert(marks);
    const logRatio = tf.clipByValue(inert(tf.sub(input.log_probs, input.old_log_probs)), -MAX_LOG_RATIO, MAX_LOG_RATIO);
    // tf.abs has the slope −1 at 0, where every token stands while old and new policy are the same.
    const distance: tf.Tensor2D = tf.mul(
      logRatio,
      withoutGradient(() => tf.sign(logRatio)),
    );
    const penalty = tf.mul(distance, tf.mul(penalized, config.policy_loss["ppo_kl_coef"] as number));
    let loss: tf.Tensor2D = tf.sub(penalty, tf.mul(inert(input.advantages), tf.exp(logRatio)));
    if (input.rollout_is_weights) loss = tf.mul(loss, inert(input.rollout_is_weights));
    return { loss: agg(loss), metrics: { "actor/ppo_kl": agg.maskedMean(distance) } };
  },
};

/** Marks the tokens of highest covariance; of equal ones the earlier. */
function highest(step: PolicyLossStep, config: PolicyLossConfig): NdArray<"float32"> {
  const { runs, tokens, of: covarianceOf } = tokenCovariance(step);
  const { starts, ends } = runs;
  const marks = NdArray.zeros("float32", step.advantages.shape);
  if (tokens === 0) return marks;
  const largest = new Largest(Math.max(Math.floor(tokens * (config.policy_loss["kl_cov_ratio"] as number)), 1), tokens);
  const candidates: number[] = [];
  for (let run = 0; run < starts.length; run++) {
    for (let at = starts[run]!; at < ends[run]!; at++) if (largest.show(covarianceOf(at))) candidates.push(at);
  }
  const { value: bar, ties } = largest.last();
  let free = ties;
  for (const at of candidates) {
    const covariance = covarianceOf(at);
    if (covariance > bar || (covariance === bar && free-- > 0)) marks.data[at] = 1;
  }
  return marks;
}
