import * as tf from "@tensorflow/tfjs";
import {
  clipRange,
  kthLargest,
  NdArray,
  preparedField,
  selectUnmasked,
  tokenShare,
  type PolicyLoss,
  type PolicyLossConfig,
  type PolicyLossStep,
} from "verl";
import { fused } from "./fused.ts";
import { tokenCovariance } from "./token-covariance.ts";

/** Bounds of the log-ratio, so that no exponential overflows. */
const MAX_LOG_RATIO = 70;

/** Field that `prepare` adds: 1 for the tokens that lose their gradient. */
const CUT = "clip_cov_tokens";

/**
 * Clip-Cov: PPO's clipped loss, without a few tokens whose covariance of advantage and log-probability is high, drawn at random: they
 * are the ones that use up the policy's entropy.
 *
 *     cov_t = (A_t − mean A)(log π_t − mean log π)
 *     candidates: lb < cov < ub and not clipped;  max(⌊ratio · tokens⌋, 1) of them are cut
 *     L = max(−A ρ, −A clip(ρ, 1 − ε_low, 1 + ε_high)), 0 where cut
 */
export const clipCov: PolicyLoss = {
  description: "Clipped surrogate loss without some tokens that cost the policy its entropy.",
  paper: "The entropy mechanism of reinforcement learning, arXiv 2505.22617, equations 12 and 13",
  aliases: ["clip-cov"],
  metrics: {
    "actor/pg_clipfrac": "Share of tokens that were cut for their covariance.",
    "actor/ppo_kl": "Mean of log π_old − log π_θ.",
  },
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      clip_cov_ratio: {
        type: "number",
        exclusiveMinimum: 0,
        maximum: 1,
        default: 0.0002,
        description: "Share of the step's tokens to cut.",
      },
      clip_cov_lb: { type: "number", default: 1, description: "Covariance that a candidate must exceed." },
      clip_cov_ub: { type: "number", default: 5, description: "Covariance that a candidate must stay below." },
    },
  },
  departures: [
    "Means, candidates and their number are the optimizer step's, not each micro-batch's, so that no split changes the loss.",
    "The candidates are drawn by a hash of their own numbers, not by a global generator: the same in any order of rows.",
    "Log-ratios are cut at ±70, so that nothing overflows.",
  ],
  prepare: (step, config) => ({ [CUT]: drawCut(step, config) }),
  compute(input, config, agg) {
    const marks = preparedField(clipCov, CUT, input, config);
    const kernel = fused("clip_cov", input, agg, ["actor/pg_clipfrac", undefined, "actor/ppo_kl"], {
      clip: clipRange(config),
      marks,
    });
    if (kernel) return kernel;
    const { low, high } = clipRange(config);
    const inert = (x: tf.Tensor2D): tf.Tensor2D => selectUnmasked(x, agg.mask);
    const cut = inert(marks);
    const logRatio = tf.clipByValue(inert(tf.sub(input.log_probs, input.old_log_probs)), -MAX_LOG_RATIO, MAX_LOG_RATIO);
    const ratio = tf.exp(logRatio);
    const gain = tf.mul(inert(input.advantages), tf.sub(cut, 1));
    let loss: tf.Tensor2D = tf.maximum(tf.mul(gain, ratio), tf.mul(gain, tf.clipByValue(ratio, 1 - low, 1 + high)));
    if (input.rollout_is_weights) loss = tf.mul(loss, inert(input.rollout_is_weights));
    return {
      loss: agg(loss),
      metrics: {
        "actor/pg_clipfrac": tokenShare(agg, tf.greater(cut, 0)),
        "actor/ppo_kl": agg.maskedMean(tf.neg(logRatio)),
      },
    };
  },
};

function drawCut(step: PolicyLossStep, config: PolicyLossConfig): NdArray<"float32"> {
  const { clip_cov_ratio, clip_cov_lb, clip_cov_ub } = config.policy_loss as Readonly<Record<string, number>>;
  const isClipped = clippedBy(step, config);
  const { runs, tokens, of } = tokenCovariance(step);
  const { starts, ends } = runs;
  const candidates: number[] = [];
  for (let run = 0; run < starts.length; run++) {
    for (let at = starts[run]!; at < ends[run]!; at++) {
      const covariance = of(at);
      if (covariance > clip_cov_lb! && covariance < clip_cov_ub! && !isClipped(at)) candidates.push(at);
    }
  }
  const wanted = Math.max(Math.floor(clip_cov_ratio! * tokens), 1);
  const marks = NdArray.zeros("float32", step.advantages.shape);
  for (const element of draw(candidates, wanted, hashOf(step))) marks.data[element] = 1;
  return marks;
}

/** True for tokens that PPO clips already: the ratio is out of range on the side that its advantage pulls to. */
function clippedBy({ log_probs, old_log_probs, advantages }: PolicyLossStep, config: PolicyLossConfig) {
  const { low, high } = clipRange(config);
  return (i: number): boolean => {
    const ratio = Math.fround(Math.exp(log_probs.data[i]! - old_log_probs.data[i]!));
    const advantage = advantages.data[i]!;
    return (advantage > 0 && ratio > 1 + high) || (advantage < 0 && ratio < 1 - low);
  };
}

/** `count` of the elements: those with the largest hashes, earlier ones first where hashes are equal. */
function draw(elements: readonly number[], count: number, hash: (element: number) => number): readonly number[] {
  if (elements.length <= count) return elements;
  const hashes = Float64Array.from(elements, hash);
  const bar = kthLargest(hashes.slice(), count);
  const above = elements.filter((_, i) => hashes[i]! > bar);
  const equal = elements.filter((_, i) => hashes[i] === bar);
  return [...above, ...equal.slice(0, count - above.length)];
}

/** 32 well-mixed bits of a token's numbers, which change with every step. */
function hashOf({ log_probs, old_log_probs, advantages }: PolicyLossStep): (element: number) => number {
  const bits = ({ data }: NdArray<"float32">) => new Int32Array(data.buffer, data.byteOffset, data.length);
  const [a, b, c] = [bits(log_probs), bits(old_log_probs), bits(advantages)];
  return (i) => {
    let hash = Math.imul(a[i]!, 0x85ebca6b) ^ Math.imul(b[i]!, 0xc2b2ae35) ^ Math.imul(c[i]!, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  };
}
