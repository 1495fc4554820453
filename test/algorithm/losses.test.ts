import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "@jest/globals";
import {
  countDenominators,
  createAggregate,
  resolveKlPenalty,
  type LossDenominators,
  type PolicyLossConfig,
  type PolicyLossInput,
} from "../../core/algorithm/index.ts";
import { NdArray } from "../../core/batch/index.ts";
import { registries } from "../../core/registry/index.ts";
import { klPenalties } from "../../plugins/kl/index.ts";
import { lossAggs } from "../../plugins/loss-agg/index.ts";
import { vanilla } from "../../plugins/policy-loss/vanilla.ts";
import { array, expectClose, flat, vectors, type Matrix } from "./vectors.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
  for (const { key, entry } of lossAggs) registries.loss_agg.register(key, entry);
  for (const { key, entry } of klPenalties) registries.kl_penalty.register(key, entry);
});

const tensor = (matrix: Matrix): tf.Tensor2D => tf.tensor2d(flat(matrix), [matrix.length, matrix[0]!.length]);

interface LossCase {
  loss_mode: string;
  style: string;
  loss_agg_mode: string;
  inputs: Record<"old_log_prob" | "log_prob" | "advantages" | "response_mask", Matrix> & {
    rollout_is_weights?: Matrix;
  };
  config: Partial<PolicyLossConfig> & {
    global_batch_info: {
      dp_size?: number;
      batch_num_tokens?: number;
      global_batch_size?: number;
      loss_scale_factor?: number;
    };
  };
  outputs: { loss: number; grad_log_prob: Matrix; metrics: Record<string, number> };
}

const actor = (config: Partial<PolicyLossConfig>, loss_agg_mode: string): PolicyLossConfig => ({
  clip_ratio: 0.2,
  clip_ratio_low: null,
  clip_ratio_high: null,
  clip_ratio_c: 3,
  tau_pos: 1,
  tau_neg: 1.05,
  ...config,
  loss_agg_mode,
  policy_loss: { loss_mode: "vanilla" },
});

type Inputs = PolicyLossInput;

/** Loss, gradient and metrics of `vanilla`. */
function run(inputs: Inputs, config: PolicyLossConfig, denominators: LossDenominators) {
  const agg = createAggregate(config.loss_agg_mode, inputs.response_mask, denominators);
  const { metrics } = vanilla.compute(inputs, config, agg);
  const { value, grad } = tf.valueAndGrad(
    (log_probs: tf.Tensor) => vanilla.compute({ ...inputs, log_probs: log_probs as tf.Tensor2D }, config, agg).loss,
  )(inputs.log_probs);
  return {
    loss: value.dataSync()[0]!,
    grad: grad.dataSync() as Float32Array,
    metrics: Object.fromEntries(Object.entries(metrics).map(([name, share]) => [name, share.dataSync()[0]!])),
  };
}

describe("vanilla", () => {
  const cases = vectors<LossCase>("policy_loss").filter(({ loss_mode }) => loss_mode === "vanilla");

  it.each(cases.map((one, i) => [i, one.style, one.loss_agg_mode, one] as const))(
    "gives the reference's loss, gradient and metrics: case %i, %s, %s",
    (_, __, mode, { inputs, config, outputs }) => {
      const { global_batch_info: info, ...rest } = config;
      const mask = array(inputs.response_mask);
      const counted = countDenominators(mask, info.loss_scale_factor ?? null);
      const denominators = {
        ...counted,
        tokens: info.batch_num_tokens ?? counted.tokens,
        sequences: info.global_batch_size ?? counted.sequences,
      };
      const result = run(
        {
          log_probs: tensor(inputs.log_prob),
          old_log_probs: tensor(inputs.old_log_prob),
          advantages: tensor(inputs.advantages),
          response_mask: tensor(inputs.response_mask),
          rollout_is_weights: inputs.rollout_is_weights && tensor(inputs.rollout_is_weights),
        },
        actor(rest, mode),
        denominators,
      );
      // The reference scales by the ranks, because it averages gradients over them; shares here sum.
      const ranks = mode === "seq-mean-token-sum-norm" ? 1 : (info.dp_size ?? 1);
      expectClose([result.loss * ranks], [outputs.loss]);
      expectClose(
        result.grad.map((g) => g * ranks),
        flat(outputs.grad_log_prob),
      );
      if (info.batch_num_tokens === undefined) {
        for (const [name, value] of Object.entries(outputs.metrics)) expectClose([result.metrics[name]!], [value]);
      }
    },
  );

  const small = (): Inputs => ({
    log_probs: tf.tensor2d([
      [-1, -0.4, -2.2],
      [-0.7, -1.5, -0.1],
    ]),
    old_log_probs: tf.tensor2d([
      [-1.05, -0.9, -1.2],
      [-0.6, -1.1, -3],
    ]),
    advantages: tf.tensor2d([
      [1, 1, 1],
      [-0.5, -0.5, -0.5],
    ]),
    response_mask: tf.tensor2d([
      [1, 1, 1],
      [1, 1, 0],
    ]),
  });
  const whole: LossDenominators = { tokens: 5, sequences: 2, scaleFactor: 3 };
  const MODES = lossAggs.map(({ key }) => key);

  it.each(MODES)("has the gradient that finite differences show: %s", (mode) => {
    const inputs = small();
    const config = actor({}, mode);
    const { grad } = run(inputs, config, whole);
    const at = inputs.log_probs.dataSync();
    for (let i = 0; i < at.length; i++) {
      const shifted = (by: number): number => {
        const moved = Float32Array.from(at);
        moved[i]! += by;
        return run({ ...inputs, log_probs: tf.tensor2d(moved, [2, 3]) }, config, whole).loss;
      };
      expect(Math.abs((shifted(5e-3) - shifted(-5e-3)) / 1e-2 - grad[i]!)).toBeLessThan(2e-3);
    }
  });

  it.each(MODES)("is not changed, nor its gradient, by NaN behind the mask: %s", (mode) => {
    const clean = run(small(), actor({}, mode), whole);
    const poisoned = small();
    for (const key of ["log_probs", "old_log_probs", "advantages"] as const) {
      const values = Float32Array.from(poisoned[key].dataSync());
      values[5] = NaN;
      poisoned[key] = tf.tensor2d(values, [2, 3]);
    }
    poisoned.rollout_is_weights = tf.tensor2d([
      [1, 1, 1],
      [1, 1, Infinity],
    ]);
    expect(run(poisoned, actor({}, mode), whole)).toEqual(clean);
    expect(clean.grad[5]).toBe(0);
  });

  it.each(MODES)("sums to the same over any split in micro-batches (report 58): %s", (mode) => {
    const inputs = small();
    const all = run(inputs, actor({}, mode), whole);
    const rows = [0, 1].map((row) =>
      run(
        Object.fromEntries(
          Object.entries(inputs).map(([key, value]) => [key, tf.slice(value as tf.Tensor2D, [row, 0], [1, 3])]),
        ) as unknown as Inputs,
        actor({}, mode),
        whole,
      ),
    );
    expectClose([rows[0]!.loss + rows[1]!.loss], [all.loss]);
    expectClose([...rows[0]!.grad, ...rows[1]!.grad], all.grad);
  });

  it("stays finite at extreme log-ratios and refuses a dual clip that is none", () => {
    const inputs = {
      ...small(),
      log_probs: tf.tensor2d([
        [0, 0, -500],
        [0, 0, 0],
      ]),
      old_log_probs: tf.tensor2d([
        [-500, 0, 0],
        [-500, 0, 0],
      ]),
    };
    const { loss, grad } = run(inputs, actor({}, "token-mean"), whole);
    expect([loss, ...grad].every(Number.isFinite)).toBe(true);
    expect(() => run(small(), actor({ clip_ratio_c: 1 }, "token-mean"), whole)).toThrow("clip_ratio_c is 1");
  });
});

describe("aggregation", () => {
  interface AggCase {
    loss_agg_mode: string;
    kwargs: { dp_size?: number; batch_num_tokens?: number; global_batch_size?: number; loss_scale_factor?: number };
    inputs: { loss_mat: Matrix; loss_mask: Matrix };
    outputs: { loss: number };
  }

  it.each(vectors<AggCase>("agg_loss").map((one, i) => [i, one.loss_agg_mode, one] as const))(
    "gives the reference's numbers: case %i, %s",
    (_, mode, { kwargs, inputs, outputs }) => {
      const counted = countDenominators(array(inputs.loss_mask), kwargs.loss_scale_factor ?? null);
      const agg = createAggregate(mode, tensor(inputs.loss_mask), {
        ...counted,
        tokens: kwargs.batch_num_tokens ?? counted.tokens,
        sequences: kwargs.global_batch_size ?? counted.sequences,
      });
      const ranks = mode === "seq-mean-token-sum-norm" ? 1 : (kwargs.dp_size ?? 1);
      expectClose([agg(tensor(inputs.loss_mat)).dataSync()[0]! * ranks], [outputs.loss]);
    },
  );

  it.each([
    ["token-mean", 3.2],
    ["seq-mean-token-mean", 5],
    ["seq-mean-token-sum", 8],
    ["seq-mean-token-sum-norm", 4],
  ] as const)("%s of the worked example is %d (report 58)", (mode, expected) => {
    const mask: Matrix = [
      [1, 1, 1, 1],
      [1, 0, 0, 0],
    ];
    const agg = createAggregate(mode, tensor(mask), countDenominators(array(mask), null));
    expectClose(
      agg(
        tensor([
          [2, 2, 2, 2],
          [8, "nan", 0, 0],
        ]),
      ).dataSync(),
      [expected],
    );
  });

  it("is 0 for a batch without tokens", () => {
    const mask: Matrix = [[0, 0]];
    for (const { key } of lossAggs) {
      const agg = createAggregate(key, tensor(mask), countDenominators(array(mask), null));
      expect(agg(tensor([["nan", 1]])).dataSync()[0]).toBe(0);
    }
  });

  it("leaves padded rows out (report 60)", () => {
    const mask: Matrix = [
      [1, 1],
      [1, 1],
      [1, 0],
      [0, 0],
    ];
    const agg = createAggregate("token-mean", tensor(mask), countDenominators(array(mask), null));
    expectClose(
      agg(
        tensor([
          [1, 1],
          [3, 3],
          [5, 0],
          [1, 1],
        ]),
      ).dataSync(),
      [2.6],
    );
  });

  it("names a mask that is none, and a matrix of another shape (report 65)", () => {
    expect(() => countDenominators(array([[0.7, -0.3]]), null)).toThrow(/must be 0 or 1, but row 0, token 0/);
    expect(() => countDenominators(new NdArray("int32", [1, 2], Int32Array.of(1, 2)), null)).toThrow(/token 1 holds 2/);
    const agg = createAggregate(
      "token-mean",
      tensor([
        [1, 1, 1],
        [1, 1, 1],
      ]),
      { tokens: 6, sequences: 2, scaleFactor: 3 },
    );
    expect(() => agg(tf.tensor2d([[1, 2]]))).toThrow(/shape \[1, 2\] does not fit response_mask of shape \[2, 3\]/);
    expect(() =>
      agg.as(
        "token-meen",
        tensor([
          [1, 1, 1],
          [1, 1, 1],
        ]),
      ),
    ).toThrow(/token-meen/);
  });
});

describe("KL estimators", () => {
  interface KlCase {
    kl_penalty: string;
    style: string;
    inputs: { log_prob: Matrix; ref_log_prob: Matrix };
    outputs: { kl: Matrix; grad_sum: Matrix };
  }

  it.each(vectors<KlCase>("kl_penalty").map((one, i) => [i, one.kl_penalty, one.style, one] as const))(
    "give the reference's values and gradients: case %i, %s, %s",
    (_, key, __, { inputs, outputs }) => {
      const estimator = resolveKlPenalty(key);
      const reference = tensor(inputs.ref_log_prob);
      expectClose(estimator.compute(tensor(inputs.log_prob), reference).dataSync(), flat(outputs.kl));
      const grad = tf.grad((x: tf.Tensor) => tf.sum(estimator.compute(x as tf.Tensor2D, reference)))(
        tensor(inputs.log_prob),
      );
      expectClose(grad.dataSync(), flat(outputs.grad_sum));
    },
  );

  it("hold a masked NaN out of the mean (report 61)", () => {
    const mask: Matrix = [[1, 0]];
    const agg = createAggregate("token-mean", tensor(mask), countDenominators(array(mask), null));
    expectClose(
      agg.maskedMean(resolveKlPenalty("k3").compute(tensor([[-1, "nan"]]), tensor([[-1.5, -2]]))).dataSync(),
      [0.106531],
    );
  });
});
