import * as tf from "@tensorflow/tfjs";
import {
  createAggregate,
  type LossDenominators,
  type PolicyLoss,
  type PolicyLossConfig,
  type PolicyLossInput,
  type PolicyLossStep,
} from "../../core/algorithm/index.ts";
import { NdArray } from "../../core/batch/index.ts";
import { registries, resolveOptions } from "../../core/registry/index.ts";
import { differentiate } from "../../core/testing/differentiate.ts";
import { numbersOf } from "../../core/testing/numbers.ts";
import { lossAggs } from "../../plugins/loss-agg/index.ts";
import { policyLosses } from "../../plugins/policy-loss/index.ts";
import { flat, type Matrix } from "./vectors.ts";

for (const { key, entry } of lossAggs) registries.loss_agg.register(key, entry);
for (const { key, entry } of policyLosses) registries.policy_loss.register(key, entry);

/** The losses that the tests of these files are about. */
export const LOSSES = ["cispo", "clip_cov", "geo_mean", "gpg", "gspo", "kl_cov", "sapo"];

export const tensor = (matrix: Matrix): tf.Tensor2D => tf.tensor2d(flat(matrix), [matrix.length, matrix[0]!.length]);

/** The actor's section with a loss and its options, defaults filled in. */
export const actor = (
  loss_mode: string,
  { policy_loss, ...config }: Partial<PolicyLossConfig> = {},
): PolicyLossConfig => ({
  clip_ratio: 0.2,
  clip_ratio_low: null,
  clip_ratio_high: null,
  clip_ratio_c: 3,
  tau_pos: 1,
  tau_neg: 1.05,
  loss_agg_mode: "token-mean",
  ...config,
  policy_loss: { loss_mode, ...resolveOptions("policy_loss", loss_mode, policy_loss) },
});

export interface LossResult {
  loss: number;
  grad: Float32Array;
  metrics: Record<string, number>;
}

/** Loss, gradient and metrics of a micro-batch. Default loss: the one that `config.policy_loss.loss_mode` names. */
export async function run(
  inputs: PolicyLossInput,
  config: PolicyLossConfig,
  denominators: LossDenominators,
  loss: PolicyLoss = registries.policy_loss.resolve(config.policy_loss.loss_mode),
): Promise<LossResult> {
  const agg = createAggregate(config.loss_agg_mode, inputs.response_mask, denominators);
  const { value, gradient, others } = await differentiate(inputs.log_probs, (log_probs) => {
    const output = loss.compute({ ...inputs, log_probs: log_probs as tf.Tensor2D }, config, agg);
    return { value: output.loss, others: output.metrics };
  });
  const metrics = Object.fromEntries(Object.entries(others).map(([name, [share]]) => [name, share!]));
  return { loss: value, grad: gradient, metrics };
}

/** The inputs of a whole step with the fields that the loss adds to it. @param metrics takes what the loss reports of the step. */
export async function prepared(
  inputs: PolicyLossInput,
  config: PolicyLossConfig,
  metrics: Record<string, number> = {},
): Promise<PolicyLossInput> {
  const loss: PolicyLoss = registries.policy_loss.resolve(config.policy_loss.loss_mode);
  if (!loss.prepare) return inputs;
  const values = await numbersOf(inputs as unknown as Record<string, tf.Tensor>);
  const step = Object.fromEntries(
    Object.entries(values).map(([name, data]) => [name, new NdArray("float32", inputs[name]!.shape, data)]),
  ) as unknown as PolicyLossStep;
  const metric = (name: string, value: number): void => void (metrics[name] = value);
  const added = Object.entries(loss.prepare(step, config, { metric })).map(([name, { data, shape }]) => [
    name,
    tf.tensor2d(data as Float32Array, shape as [number, number], "float32"),
  ]);
  return { ...inputs, ...(Object.fromEntries(added) as Record<string, tf.Tensor>) };
}
