import * as tf from "@tensorflow/tfjs";
import { createAggregate } from "../algorithm/aggregate.ts";
import type { KlPenalty } from "../algorithm/kl-penalty.ts";
import type { LossDenominators } from "../algorithm/loss-agg.ts";
import type { PolicyLoss, PolicyLossConfig, PolicyLossOutput } from "../algorithm/policy-loss.ts";
import { selectUnmasked } from "../algorithm/select-unmasked.ts";
import { requireTensor } from "../algorithm/require-tensor.ts";
import type { LossInputs, TokenLoss } from "../engine/training-engine.ts";
import { inNameOf } from "../registry/index.ts";

/** The parts of the actor's loss, chosen once a run. */
export interface ActorLossParts {
  policyLoss: PolicyLoss;
  config: PolicyLossConfig;
  /** Batch fields that the policy loss receives besides the usual ones: its `requires` and `actor.select_keys`. */
  extraFields: readonly string[];
  /** Weight of the entropy bonus; 0 leaves the entropy out of the loss. */
  entropyCoeff: number;
  /** Report the entropy even where the loss has no use for it. */
  calculateEntropy: boolean;
  /** KL loss against the reference; absent: none. */
  kl?: { penalty: Pick<KlPenalty, "compute" | "over">; coef: number };
}

/** Fields that every policy loss receives. */
const USUAL_FIELDS = ["old_log_probs", "advantages", "response_mask"];

/** Batch fields that the loss reads; `rollout_is_weights` only where the batch has it. */
export function actorLossFields(parts: ActorLossParts, has: (field: string) => boolean): string[] {
  return [
    ...new Set([
      ...USUAL_FIELDS,
      ...(has("rollout_is_weights") ? ["rollout_is_weights"] : []),
      ...(parts.kl ? [referenceField(parts.kl.penalty)] : []),
      ...parts.extraFields,
    ]),
  ];
}

/** What a KL estimator compares the policy with: one number a token, or one a token and word of the vocabulary. */
const referenceField = ({ over }: Pick<KlPenalty, "over">): string =>
  over === "vocabulary" ? "ref_log_softmax" : "ref_log_prob";

/**
 * The actor's loss of one optimizer step: policy loss − entropy_coeff · entropy + kl_loss_coef · KL.
 * As in verl's engine path, `actor/pg_loss` is the policy loss alone, without entropy and KL.
 */
export function actorLoss(parts: ActorLossParts, fields: readonly string[], denominators: LossDenominators): TokenLoss {
  const { policyLoss, config, entropyCoeff, kl } = parts;
  const wantsEntropy = entropyCoeff !== 0 || parts.calculateEntropy;
  const wantsDistribution = kl?.penalty.over === "vocabulary";
  return {
    fields,
    outputs: [
      "log_probs",
      ...(wantsEntropy ? ["entropy" as const] : []),
      ...(wantsDistribution ? ["log_softmax" as const] : []),
    ],
    compute(inputs: LossInputs) {
      const response_mask = tf.cast(inputs.fields.response_mask as tf.Tensor2D, "float32");
      const received = { ...inputs.fields, response_mask } as Record<string, tf.Tensor> &
        Record<(typeof USUAL_FIELDS)[number], tf.Tensor2D>;
      const agg = createAggregate(config.loss_agg_mode, received.response_mask!, denominators);
      const { log_probs, entropy } = inputs;
      const policy = inNameOf("policy_loss", config.policy_loss.loss_mode, () =>
        checkedLoss(policyLoss.compute({ ...received, log_probs, entropy } as never, config, agg)),
      );
      const metrics: Record<string, tf.Scalar> = { ...policy.metrics, "actor/pg_loss": policy.loss };
      let loss = policy.loss;
      if (entropy) {
        const bonus = agg(entropy);
        metrics["actor/entropy_loss"] = bonus;
        if (entropyCoeff !== 0) loss = tf.sub(loss, tf.mul(bonus, entropyCoeff));
      }
      if (kl) {
        // Selected before the estimator, whose gradient at NaN behind the mask would be NaN.
        const mask = wantsDistribution ? tf.expandDims(agg.mask, -1) : agg.mask;
        const policyLogProbs = wantsDistribution ? inputs.log_softmax! : log_probs;
        const [own, reference] = [policyLogProbs, received[referenceField(kl.penalty)]!].map((x) =>
          selectUnmasked(x, mask),
        );
        const penalty = agg(kl.penalty.compute(own!, reference!));
        metrics["actor/kl_loss"] = penalty;
        loss = tf.add(loss, tf.mul(penalty, kl.coef));
      }
      return { loss, metrics };
    },
  };
}

/** Losses come from plugins. @throws VERL_ALGORITHM_SHAPE for a result without a scalar. */
function checkedLoss(output: Partial<PolicyLossOutput> | undefined): PolicyLossOutput {
  requireTensor(output?.loss, [], "the step's share of the loss");
  return { metrics: {}, ...output } as PolicyLossOutput;
}
