import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "@jest/globals";
import {
  countDenominators,
  createAggregate,
  resolveKlPenalty,
  type LossDenominators,
  type PolicyLossConfig,
} from "../../core/algorithm/index.ts";
import { NdArray } from "../../core/batch/index.ts";
import { registries } from "../../core/registry/index.ts";
import { differentiate } from "../../core/testing/differentiate.ts";
import { klPenalties } from "../../plugins/kl/index.ts";
import { actor, prepared, run, tensor } from "./policy-loss-cases.ts";
import { runValueLoss, type ValueLossCase } from "./value-loss-cases.ts";
import { array, expectClose, flat, vectors, type Matrix } from "./vectors.ts";

for (const { key, entry } of klPenalties) registries.kl_penalty.register(key, entry);

/** What the reference is told of a step; what is absent it counts, as we do. */
interface StepInfo {
  dp_size?: number;
  batch_num_tokens?: number;
  global_batch_size?: number;
  loss_scale_factor?: number;
}

const denominatorsOf = (mask: NdArray, info: StepInfo): LossDenominators => {
  const counted = countDenominators(mask, info.loss_scale_factor ?? null);
  const { batch_num_tokens = counted.tokens, global_batch_size = counted.sequences } = info;
  return { ...counted, tokens: batch_num_tokens, sequences: global_batch_size };
};

/** The reference scales by the ranks, because it averages gradients over them; shares here sum. */
const ranksOf = (mode: string, { dp_size = 1 }: StepInfo): number => (mode === "seq-mean-token-sum-norm" ? 1 : dp_size);

interface PolicyLossCase {
  loss_mode: string;
  style: string;
  loss_agg_mode: string;
  inputs: Record<"old_log_prob" | "log_prob" | "advantages" | "response_mask", Matrix> & {
    rollout_is_weights?: Matrix;
  };
  config: Partial<PolicyLossConfig> & { global_batch_info: StepInfo };
  outputs: { loss: number; grad_log_prob: Matrix; metrics: Record<string, number> };
}

async function checkPolicyLoss({ loss_mode, style, loss_agg_mode, inputs, ...one }: PolicyLossCase): Promise<void> {
  const { global_batch_info: info, ...rest } = one.config;
  const config = actor(loss_mode, { ...rest, loss_agg_mode });
  const ofStep: Record<string, number> = {};
  const input = await prepared(
    {
      log_probs: tensor(inputs.log_prob),
      old_log_probs: tensor(inputs.old_log_prob),
      advantages: tensor(inputs.advantages),
      response_mask: tensor(inputs.response_mask),
      ...(inputs.rollout_is_weights && { rollout_is_weights: tensor(inputs.rollout_is_weights) }),
    },
    config,
    ofStep,
  );
  const mask = new NdArray("float32", input.response_mask.shape, await input.response_mask.data<"float32">());
  const result = await run(input, config, denominatorsOf(mask, info));
  const { loss, grad_log_prob, metrics } = one.outputs;
  const ranks = ranksOf(loss_agg_mode, info);
  expectClose([result.loss * ranks], [loss]);
  expectClose(
    result.grad.map((slope) => slope * ranks),
    flat(grad_log_prob),
  );
  // Where the reference is told other counts, its metrics keep to the batch's.
  if (info.batch_num_tokens !== undefined) return;
  // Of a batch without tokens rollout correction says nothing here.
  if (loss_mode === "bypass_mode" && style === "empty") return;
  // One metric is our own.
  const { "rollout_corr/rejected_row_fraction": _own, ...got } = { ...ofStep, ...result.metrics };
  expect(Object.keys(got).sort()).toEqual(Object.keys(metrics).sort());
  for (const [name, value] of Object.entries(metrics)) expectClose([got[name]!], [value]);
}

interface AggregationCase {
  loss_agg_mode: string;
  kwargs: StepInfo;
  inputs: { loss_mat: Matrix; loss_mask: Matrix };
  outputs: { loss: number };
}

async function checkAggregation({ loss_agg_mode, kwargs, inputs, outputs }: AggregationCase): Promise<void> {
  const denominators = denominatorsOf(array(inputs.loss_mask), kwargs);
  const agg = createAggregate(loss_agg_mode, tensor(inputs.loss_mask), denominators);
  const [loss] = await agg(tensor(inputs.loss_mat)).data();
  expectClose([loss! * ranksOf(loss_agg_mode, kwargs)], [outputs.loss]);
}

interface KlCase {
  kl_penalty: string;
  style: string;
  inputs: { log_prob: Matrix; ref_log_prob: Matrix };
  outputs: { kl: Matrix; grad_sum: Matrix };
}

async function checkKl({ kl_penalty, inputs, outputs }: KlCase): Promise<void> {
  const estimator = resolveKlPenalty(kl_penalty);
  const reference = tensor(inputs.ref_log_prob);
  const { gradient, others } = await differentiate(tensor(inputs.log_prob), (logProb) => {
    const kl = estimator.compute(logProb, reference);
    return { value: tf.sum(kl), others: { kl } };
  });
  expectClose(others["kl"]!, flat(outputs.kl));
  expectClose(gradient, flat(outputs.grad_sum));
}

async function checkValueLoss(one: ValueLossCase): Promise<void> {
  const { loss, metrics, grad } = await runValueLoss(one);
  expectClose([loss], [one.outputs.vf_loss]);
  expect(metrics["critic/vf_loss"]).toBe(loss);
  expectClose([metrics["critic/vf_clipfrac"]!], [one.outputs.vf_clipfrac]);
  expectClose(grad, flat(one.outputs.grad_vpreds));
}

/** Defines the tests that losses give the reference's numbers, on the tensor backend that is active when they run. */
export function testLossParity(): void {
  describe("the reference's numbers", () => {
    it.each(vectors<PolicyLossCase>("policy_loss").map((one, i) => [i, one.loss_mode, one.style, one] as const))(
      "are those of the policy loss: %i, %s, %s",
      (_, __, ___, one) => checkPolicyLoss(one),
    );
    it.each(vectors<AggregationCase>("agg_loss").map((one, i) => [i, one.loss_agg_mode, one] as const))(
      "are those of the aggregation: %i, %s",
      (_, __, one) => checkAggregation(one),
    );
    it.each(vectors<KlCase>("kl_penalty").map((one, i) => [i, one.kl_penalty, one.style, one] as const))(
      "are those of the KL estimator: %i, %s, %s",
      (_, __, ___, one) => checkKl(one),
    );
    it.each(vectors<ValueLossCase>("value_loss").map((one, i) => [i, one.loss_agg_mode, one] as const))(
      "are those of the value loss: %i, %s",
      (_, __, one) => checkValueLoss(one),
    );
  });
}
