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
import { actor, run, tensor } from "./policy-loss-cases.ts";
import { array, expectClose, type Matrix } from "./vectors.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
  for (const { key, entry } of klPenalties) registries.kl_penalty.register(key, entry);
});

const vanilla = (loss_agg_mode: string, config: Partial<PolicyLossConfig> = {}): PolicyLossConfig =>
  actor("vanilla", { ...config, loss_agg_mode });

describe("vanilla", () => {
  const small = (): PolicyLossInput => ({
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

  it.each(MODES)("has the gradient that finite differences show: %s", async (mode) => {
    const inputs = small();
    const config = vanilla(mode);
    const { grad } = await run(inputs, config, whole);
    const at = inputs.log_probs.dataSync();
    for (let i = 0; i < at.length; i++) {
      const shifted = async (by: number): Promise<number> => {
        const moved = Float32Array.from(at);
        moved[i]! += by;
        return (await run({ ...inputs, log_probs: tf.tensor2d(moved, [2, 3]) }, config, whole)).loss;
      };
      const slope = ((await shifted(5e-3)) - (await shifted(-5e-3))) / 1e-2;
      expect(Math.abs(slope - grad[i]!)).toBeLessThan(2e-3);
    }
  });

  it.each(MODES)("is not changed, nor its gradient, by NaN behind the mask: %s", async (mode) => {
    const clean = await run(small(), vanilla(mode), whole);
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
    expect(await run(poisoned, vanilla(mode), whole)).toEqual(clean);
    expect(clean.grad[5]).toBe(0);
  });

  it.each(MODES)("sums to the same over any split in micro-batches (report 58): %s", async (mode) => {
    const inputs = small();
    const all = await run(inputs, vanilla(mode), whole);
    const rowOf = (row: number) =>
      Object.fromEntries(
        Object.entries(inputs).map(([key, value]) => [key, tf.slice(value as tf.Tensor2D, [row, 0], [1, 3])]),
      ) as unknown as PolicyLossInput;
    const rows = await Promise.all([0, 1].map((row) => run(rowOf(row), vanilla(mode), whole)));
    expectClose([rows[0]!.loss + rows[1]!.loss], [all.loss]);
    expectClose([...rows[0]!.grad, ...rows[1]!.grad], all.grad);
  });

  it("stays finite at extreme log-ratios and refuses a dual clip that is none", async () => {
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
    const { loss, grad } = await run(inputs, vanilla("token-mean"), whole);
    expect([loss, ...grad].every(Number.isFinite)).toBe(true);
    await expect(run(small(), vanilla("token-mean", { clip_ratio_c: 1 }), whole)).rejects.toThrow("clip_ratio_c is 1");
  });
});

describe("aggregation", () => {
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

  it.each(["vanilla", "gspo", "sapo", "gpg", "clip_cov", "kl_cov", "geo_mean", "cispo", "reinforce"])(
    "refuses a field of another shape than the log-probs, which a kernel would read past its end (report 65): %s",
    (key) => {
      const field = tensor([[-1, -1, -1], [-1, -1, -1]]); // prettier-ignore
      const good = { log_probs: field, old_log_probs: field, advantages: field, response_mask: tf.onesLike(field) };
      const agg = createAggregate("token-mean", good.response_mask, { tokens: 6, sequences: 2, scaleFactor: 3 });
      const loss = registries.policy_loss.resolve(key);
      for (const name of ["advantages", "old_log_probs", "rollout_is_weights"] as const) {
        const narrow = { ...good, [name]: tf.ones([2, 1]) } as PolicyLossInput;
        expect(() => loss.compute(narrow, actor(key), agg)).toThrow(
          expect.objectContaining({ code: "VERL_ALGORITHM_SHAPE", message: expect.stringContaining(name) }),
        );
      }
    },
  );

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
  it("hold a masked NaN out of the mean (report 61)", () => {
    const mask: Matrix = [[1, 0]];
    const agg = createAggregate("token-mean", tensor(mask), countDenominators(array(mask), null));
    expectClose(
      agg.maskedMean(resolveKlPenalty("k3").compute(tensor([[-1, "nan"]]), tensor([[-1.5, -2]]))).dataSync(),
      [0.106531],
    );
  });
});
