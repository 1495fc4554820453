import * as tf from "@tensorflow/tfjs";
import {
  correctRollout,
  countDenominators,
  createAggregate,
  NdArray,
  type BypassLoss,
  type LossDenominators,
  type PolicyLoss,
  type PolicyLossConfig,
  type RolloutCorrection,
  type RolloutCorrectionConfig,
} from "verl";
import { reinforce } from "./reinforce.ts";
import { vanilla } from "./vanilla.ts";

const SECTION = "actor_rollout_ref.actor.policy_loss.rollout_correction";
const LOSSES = { ppo_clip: vanilla, reinforce } as const satisfies Record<BypassLoss, PolicyLoss>;

/** Field that `prepare` adds: the mask as it was before rejection. */
const MASK_BEFORE = "response_mask_before_rejection";

/**
 * Two policies instead of three: the sampler's log-probs are the old ones, and rollout correction compares them with π_θ as it is now.
 * Rejected tokens leave the loss, and its denominators. The weights are constants of the gradient.
 *
 *     ppo_clip:   vanilla on the kept tokens; its clipped ratio π_θ/π_rollout already is the importance weight
 *     reinforce:  L = −A log π_θ · w on the kept tokens
 */
export const bypassMode: PolicyLoss = {
  description:
    "Trains on the sampler's log-probs as old ones, with rejection and importance weights from the current policy.",
  paper:
    'Liu et al., "When Speed Kills Stability: Demystifying RL Collapse from the Training-Inference Mismatch" (2025)',
  metrics: {
    ...vanilla.metrics,
    "rollout_corr/*": "Metrics of rollout correction between π_θ at the step's start and the sampler.",
  },
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: {
      rollout_correction: {
        type: "object",
        description: "The correction, as in algorithm.rollout_correction, which fills it in when bypass_mode is set.",
        default: {},
        additionalProperties: false,
        properties: {
          bypass_mode: { type: "boolean", description: "Accepted for the section's sake.", default: true },
          loss_type: { enum: Object.keys(LOSSES), description: "Loss on the kept tokens.", default: "ppo_clip" },
          rollout_is: {
            enum: ["token", "sequence", null],
            description: "Importance weights of `reinforce`, per token or per answer; null: none.",
            default: null,
          },
          rollout_is_threshold: {
            type: "number",
            description: "Weights are cut to this.",
            default: 2,
            exclusiveMinimum: 0,
          },
          rollout_is_batch_normalize: { type: "boolean", description: "Divide weights by their mean.", default: false },
          rollout_rs: {
            type: ["string", "null"],
            description: "Rejection rules, comma-separated; null: none.",
            default: null,
          },
          rollout_rs_threshold: {
            type: ["number", "string", "null"],
            description: "One bound, or one a rule, comma-separated; `lower_upper` for k1 rules.",
            default: null,
          },
        },
      },
    },
  },
  departures: [
    "Rejection, normalisation and metrics are of the whole optimizer step, not of each micro-batch, so that no split changes the loss.",
    "Rejected tokens leave the entropy bonus and the KL loss too, as they do in decoupled mode.",
    "Without `rollout_correction` nothing is corrected, where verl raises.",
  ],
  prepare(step, config, ctx) {
    const mask = step.response_mask as NdArray<"float32" | "int32">;
    const { response_mask, weights, metrics } = correct(step.log_probs, step.old_log_probs, mask, config);
    for (const [name, value] of Object.entries(metrics)) ctx.metric(name, value);
    return { response_mask, [MASK_BEFORE]: mask, ...(weights && { rollout_is_weights: weights }) };
  },
  compute(input, config, agg) {
    const loss = LOSSES[optionsOf(config).loss_type];
    const own = weighs(config) ? input : { ...input, rollout_is_weights: undefined };
    if (input[MASK_BEFORE]) return loss.compute(own, config, agg);

    // Nobody called `prepare`: the batch at hand stands for the step.
    const mask = constant(agg.mask);
    const { response_mask, weights, metrics } = correct(
      constant(input.log_probs),
      constant(input.old_log_probs),
      mask,
      config,
    );
    const keptMask = tensor(response_mask);
    const kept = createAggregate(config.loss_agg_mode, keptMask, lessRejected(agg.denominators, mask, response_mask));
    const corrected = { ...own, response_mask: keptMask, rollout_is_weights: weights && tensor(weights) };
    const result = loss.compute(corrected, config, kept);
    const share = countDenominators(mask, null).tokens / Math.max(agg.denominators.tokens, 1);
    for (const [name, value] of Object.entries(metrics)) result.metrics[name] = tf.scalar(value * share);
    return result;
  },
};

const optionsOf = (config: PolicyLossConfig) =>
  config.policy_loss["rollout_correction"] as RolloutCorrectionConfig & { readonly loss_type: BypassLoss };

/** Clipping is PPO's way of weighing; the policy gradient has none of its own. */
const weighs = (config: PolicyLossConfig): boolean =>
  optionsOf(config).loss_type === "reinforce" && optionsOf(config).rollout_is !== null;

function correct(
  log_probs: NdArray<"float32">,
  rollout_log_probs: NdArray<"float32">,
  response_mask: NdArray<"float32" | "int32">,
  config: PolicyLossConfig,
): Pick<RolloutCorrection, "response_mask" | "metrics"> & { weights?: NdArray<"float32"> } {
  const input = { old_log_probs: log_probs, rollout_log_probs, response_mask };
  const { rollout_is_weights, ...rest } = correctRollout(input, optionsOf(config), SECTION);
  return weighs(config) ? { ...rest, weights: rollout_is_weights! } : rest;
}

/** The step's counts, less the share of them that this batch rejects of its own. */
function lessRejected(step: LossDenominators, before: NdArray, after: NdArray): LossDenominators {
  const [whole, kept] = [countDenominators(before, null), countDenominators(after, null)];
  return {
    tokens: (step.tokens * kept.tokens) / Math.max(whole.tokens, 1),
    sequences: (step.sequences * kept.sequences) / Math.max(whole.sequences, 1),
    scaleFactor: step.scaleFactor,
  };
}

/** Values without a gradient. */
const constant = (matrix: tf.Tensor2D): NdArray<"float32"> =>
  new NdArray("float32", matrix.shape, matrix.dataSync<"float32">());

const tensor = ({ data, shape }: NdArray): tf.Tensor2D =>
  tf.tensor2d(data as Float32Array, shape as [number, number], "float32");
