import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import {
  countDenominators,
  createAggregate,
  createRng,
  NdArray,
  POLICY_LOSS,
  registries,
  type LossDenominators,
  type PolicyLossConfig,
  type PolicyLossInput,
} from "verl";
import { actor } from "../algorithm/policy-loss-cases.ts";
import { array, expectClose, flat, vectors, type Matrix } from "../algorithm/vectors.ts";
import type { Kernel } from "./kernel.ts";
import { relativeError } from "./relative-error.ts";

/** Losses that have a kernel. */
export const LOSSES = ["cispo", "clip_cov", "geo_mean", "gpg", "gspo", "kl_cov", "reinforce", "sapo", "vanilla"];
const MODES = ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"];

export interface Result {
  loss: number;
  gradient: Float32Array;
  metrics: Record<string, number>;
}

export type Fields = Readonly<Record<string, NdArray<"float32"> | undefined>>;

/** Loss, gradient of `scale` times the loss, and metrics, on a backend. @param through what log-probs go through before the loss. */
export async function run(
  backend: string,
  fields: Fields,
  config: PolicyLossConfig,
  denominators: LossDenominators,
  scale = 1,
  through = (logProbs: tf.Tensor2D): tf.Tensor2D => logProbs,
): Promise<Result> {
  await tf.setBackend(backend);
  const loss = registries.policy_loss.resolve(config.policy_loss.loss_mode);
  const tensors = Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]) =>
      field ? [[name, tf.tensor2d(field.data, field.shape as [number, number])]] : [],
    ),
  ) as PolicyLossInput & Record<string, tf.Tensor2D>;
  const kept: Record<string, tf.Tensor> = {};
  const gradient = tf.tidy(() =>
    tf.grad((log_probs) => {
      const agg = createAggregate(config.loss_agg_mode, tensors.response_mask, denominators);
      const output = loss.compute({ ...tensors, log_probs: through(log_probs as tf.Tensor2D) }, config, agg);
      Object.assign(kept, output.metrics, { loss: output.loss });
      for (const tensor of Object.values(kept)) tf.keep(tensor);
      return scale === 1 ? output.loss : tf.mul(output.loss, scale);
    })(tensors.log_probs),
  );
  const names = Object.keys(kept);
  const numbers = await Promise.all(names.map(async (name) => (await kept[name]!.data())[0]!));
  const { loss: value, ...metrics } = Object.fromEntries(names.map((name, i) => [name, numbers[i]!]));
  const result = { loss: value!, gradient: (await gradient.data()) as Float32Array, metrics };
  tf.dispose([gradient, tensors, kept]);
  return result;
}

/** A batch with NaN behind the mask, some rows of which have no tokens. */
export function batch(rows: number, width: number, seed: number, { spread = 1, weights = false } = {}): Fields {
  const rng = createRng(seed);
  const matrix = (value: (at: number) => number) =>
    new NdArray(
      "float32",
      [rows, width],
      Float32Array.from({ length: rows * width }, (_, at) => value(at)),
    );
  const lengths = Array.from({ length: rows }, (_, row) => (row % 5 === 3 ? 0 : rng.below(width + 1)));
  const mask = matrix((at) => (at % width < lengths[Math.floor(at / width)]! && rng.uniform() < 0.9 ? 1 : 0));
  const masked = (value: () => number) => matrix((at) => (mask.data[at] === 0 ? NaN : value()));
  const old = masked(() => -3 * rng.uniform());
  const fields = {
    response_mask: mask,
    old_log_probs: old,
    log_probs: matrix((at) => old.data[at]! + spread * rng.normal()),
    advantages: masked(() => (rng.uniform() < 0.1 ? 0 : rng.normal())),
    rollout_is_weights: weights ? masked(() => 2 * rng.uniform()) : undefined,
    clip_cov_tokens: masked(() => Number(rng.uniform() < 0.2)),
    kl_cov_tokens: masked(() => Number(rng.uniform() < 0.2)),
  };
  return fields;
}

interface Case {
  loss_mode: string;
  loss_agg_mode: string;
  inputs: Record<"old_log_prob" | "log_prob" | "advantages" | "response_mask", Matrix> & {
    rollout_is_weights?: Matrix;
  };
  config: Partial<PolicyLossConfig> & { global_batch_info: object };
  outputs: { loss: number; grad_log_prob: Matrix; metrics: Record<string, number> };
}

/** What a kernel says, and what the composed loss says on tfjs' `cpu`, to the tolerance; 0 behind the mask. */
export async function compare(
  { backend, tolerance, poison }: Kernel,
  fields: Fields,
  config: PolicyLossConfig,
  scale = 1,
): Promise<Result> {
  const mask = fields["response_mask"]!;
  const denominators = countDenominators(mask, null);
  await tf.setBackend(backend);
  await poison?.(mask.data.length);
  const got = await run(backend, fields, config, denominators, scale);
  const expected = await run("cpu", fields, config, denominators, scale);
  expect(Object.keys(got.metrics).sort()).toEqual(Object.keys(expected.metrics).sort());
  expect(relativeError(got.gradient, expected.gradient)).toBeLessThan(tolerance);
  expect(got.gradient.filter((_, i) => mask.data[i] === 0).every((slope) => Object.is(slope, 0))).toBe(true);
  expect(Math.abs(got.loss - expected.loss)).toBeLessThan(tolerance * (1 + Math.abs(expected.loss)));
  for (const [name, value] of Object.entries(expected.metrics)) {
    expect(Math.abs(got.metrics[name]! - value)).toBeLessThan(tolerance * (1 + Math.abs(value)));
  }
  return got;
}

/** Defines the tests that each implementation of the kernel passes. */
export function testPolicyLossKernel(kernel: Kernel): void {
  const compared = (key: string, mode: string, fields: Fields, scale?: number): Promise<Result> =>
    compare(kernel, fields, actor(key, { loss_agg_mode: mode, clip_ratio_low: 0.25, clip_ratio_high: 0.15 }), scale);

  it("is compared with losses that are composed", () => {
    expect(tf.getKernel(POLICY_LOSS, kernel.backend)).toBeDefined();
    expect(tf.getKernel(POLICY_LOSS, "cpu")).toBeUndefined();
  });

  describe.each(LOSSES)("the kernel of %s", (key) => {
    it.each(MODES)("equals the composed loss with %s, whatever stands behind the mask", async (mode) => {
      for (const weights of [false, true]) await compared(key, mode, batch(9, 36, 5, { weights }));
    });

    it("does so for rows of any length, and scaled", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 7 }),
          fc.integer({ min: 1, max: 70 }),
          fc.nat(),
          (rows, width, seed) =>
            compared(key, MODES[seed % 4]!, batch(rows, width, seed, { weights: seed % 2 === 0 }), 0.5).then(() => {}),
        ),
        { numRuns: 4, seed: 11 },
      );
    });

    it("does so where log-ratios are extreme", async () => {
      await compared(key, "token-mean", batch(6, 24, 7, { spread: 60 }));
    });

    it("does so for long rows", async () => {
      await compared(key, "seq-mean-token-mean", batch(2, 5_001, 3));
      await compared(key, "seq-mean-token-mean", batch(3, 4_096, 3));
    });
  });

  it.each(
    vectors<Case>("policy_loss")
      .filter(({ loss_mode }) => LOSSES.includes(loss_mode) && !/_cov$|^vanilla$/.test(loss_mode))
      .map((one, i) => [i, one.loss_mode, one] as const),
  )("gives the reference's loss, gradient and metrics: %i, %s", async (_, key, one) => {
    const { global_batch_info: _info, ...rest } = one.config;
    const { inputs, outputs } = one;
    const fields = {
      log_probs: array(inputs.log_prob),
      old_log_probs: array(inputs.old_log_prob),
      advantages: array(inputs.advantages),
      response_mask: array(inputs.response_mask),
      rollout_is_weights: inputs.rollout_is_weights && array(inputs.rollout_is_weights),
    };
    const config = actor(key, { ...rest, loss_agg_mode: one.loss_agg_mode });
    const result = await run(kernel.backend, fields, config, countDenominators(fields.response_mask, null));
    expectClose([result.loss], [outputs.loss]);
    expectClose(result.gradient, flat(outputs.grad_log_prob));
    for (const [name, value] of Object.entries(outputs.metrics)) expectClose([result.metrics[name]!], [value]);
  });
}
