import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { kthLargest, type LossDenominators, type PolicyLossInput } from "../../core/algorithm/index.ts";
import { registries } from "../../core/registry/index.ts";
import { actor, LOSSES, prepared, run, tensor } from "./policy-loss-cases.ts";
import { expectClose, type Matrix } from "./vectors.ts";

beforeAll(async () => {
  await tf.setBackend("cpu");
});

const matrices = (log_probs: Matrix, old: Matrix, advantages: Matrix, mask: Matrix): PolicyLossInput => ({
  log_probs: tensor(log_probs),
  old_log_probs: tensor(old),
  advantages: tensor(advantages),
  response_mask: tensor(mask),
});

const small = (): PolicyLossInput =>
  matrices(
    [
      [-1, -0.4, -2.2],
      [-0.7, -1.5, -0.1],
      [-0.2, -3, -0.9],
    ],
    [
      [-1.05, -0.9, -1.2],
      [-0.6, -1.1, -3],
      [-0.3, -2.9, -1],
    ],
    [
      [1, 1, 1],
      [-0.5, -0.5, -0.5],
      [2, 2, 2],
    ],
    [
      [1, 1, 1],
      [1, 1, 0],
      [1, 1, 1],
    ],
  );
const WHOLE: LossDenominators = { tokens: 8, sequences: 3, scaleFactor: 3 };

/** Options under which the covariance losses pick some of the tokens, and not all. */
const OPTIONS: Record<string, Record<string, number>> = {
  clip_cov: { clip_cov_ratio: 0.25, clip_cov_lb: 0.05, clip_cov_ub: 50 },
  kl_cov: { kl_cov_ratio: 0.25, ppo_kl_coef: 1 },
};
const config = (key: string) => actor(key, { policy_loss: { loss_mode: key, ...OPTIONS[key] } });

const rowsOf = (inputs: PolicyLossInput, order: number[]): PolicyLossInput =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, field]) => [name, tf.gather(field as tf.Tensor2D, order)]),
  ) as unknown as PolicyLossInput;

describe.each(LOSSES)("%s", (key) => {
  it("has the gradient that finite differences show", async () => {
    const inputs = await prepared(small(), config(key));
    const { grad } = await run(inputs, config(key), WHOLE);
    // Where sg(·) stands in the loss, the gradient is not that of the value.
    const surrogate = key === "gspo" || key === "cispo";
    const at = inputs.log_probs.dataSync();
    for (let i = 0; i < at.length; i++) {
      const shifted = async (by: number): Promise<number> => {
        const moved = Float32Array.from(at);
        moved[i]! += by;
        return (await run({ ...inputs, log_probs: tf.tensor2d(moved, [3, 3]) }, config(key), WHOLE)).loss;
      };
      const slope = ((await shifted(5e-3)) - (await shifted(-5e-3))) / 1e-2;
      if (!surrogate) expect(Math.abs(slope - grad[i]!)).toBeLessThan(3e-3);
    }
    expect(grad.some((value) => value !== 0)).toBe(true);
  });

  it("is not changed, nor its gradient, by NaN behind the mask", async () => {
    const clean = await run(small(), config(key), WHOLE);
    const poisoned = small();
    for (const name of ["log_probs", "old_log_probs", "advantages"] as const) {
      const values = Float32Array.from(poisoned[name].dataSync());
      values[5] = name === "advantages" ? 1e9 : NaN;
      poisoned[name] = tf.tensor2d(values, [3, 3]);
    }
    const ones = (last: number): tf.Tensor2D => tf.tensor2d([1, 1, 1, 1, 1, last, 1, 1, 1], [3, 3]);
    const weighted = await run({ ...poisoned, rollout_is_weights: ones(Infinity) }, config(key), WHOLE);
    expect(await run(poisoned, config(key), WHOLE)).toEqual(clean);
    expectClose([weighted.loss, ...weighted.grad], [clean.loss, ...clean.grad]);
    expect(clean.grad[5] === 0).toBe(true);
  });

  it("sums to the same over any split in micro-batches, metrics too", async () => {
    const inputs = await prepared(small(), config(key));
    const all = await run(inputs, config(key), WHOLE);
    const parts = await Promise.all([[0], [1, 2]].map((order) => run(rowsOf(inputs, order), config(key), WHOLE)));
    expectClose([parts[0]!.loss + parts[1]!.loss], [all.loss]);
    expectClose([...parts[0]!.grad, ...parts[1]!.grad], all.grad);
    for (const [name, value] of Object.entries(all.metrics)) {
      expectClose([parts[0]!.metrics[name]! + parts[1]!.metrics[name]!], [value]);
    }
  });

  it("does not depend on the order of rows", async () => {
    const { loss, grad } = await run(small(), config(key), WHOLE);
    const turned = await run(rowsOf(small(), [2, 0, 1]), config(key), WHOLE);
    expectClose([turned.loss], [loss]);
    expectClose(turned.grad, [...grad.slice(6), ...grad.slice(0, 6)]);
  });

  it("stays finite at extreme log-ratios, and is 0 without tokens", async () => {
    const far = matrices(
      [
        [0, 0, -500],
        [-500, 0, 0],
      ],
      [
        [-500, 0, 0],
        [0, -500, 0],
      ],
      [
        [1, 1, 1],
        [-1, -1, -1],
      ],
      [
        [1, 1, 1],
        [1, 1, 1],
      ],
    );
    const { loss, grad, metrics } = await run(far, config(key), { tokens: 6, sequences: 2, scaleFactor: 3 });
    expect([loss, ...grad, ...Object.values(metrics)].every(Number.isFinite)).toBe(true);
    const empty = { ...small(), response_mask: tf.zeros<tf.Rank.R2>([3, 3]) };
    const nothing = await run(empty, config(key), { tokens: 0, sequences: 0, scaleFactor: 3 });
    expect([Math.abs(nothing.loss), ...nothing.grad.map(Math.abs)]).toEqual(new Array(10).fill(0));
  });

  it("reports the metrics that it declares, and no others", async () => {
    const declared = Object.keys(registries.policy_loss.resolve(key).metrics ?? {});
    expect(Object.keys((await run(small(), config(key), WHOLE)).metrics).sort()).toEqual(declared.sort());
  });
});

describe("gspo", () => {
  it("has one ratio an answer, over its unmasked tokens alone (report 63)", async () => {
    const one = { tokens: 2, sequences: 1, scaleFactor: 3 };
    const a = matrices([[-0.5, -1, -0.7]], [[-1, -1, -1]], [[-1, -1, -1]], [[1, 1, 0]]);
    expectClose([(await run(a, actor("gspo"), one)).loss], [1.284025]);
    const b = matrices([[-1, -1, -1, -1]], [[-1, -1, -1, -1]], [[2, 2, 50, 50]], [[1, 1, 0, 0]]);
    expectClose([(await run(b, actor("gspo"), one)).loss], [-2]);
  });

  it.each([
    [1, -1.2],
    [-1, 22026.4658],
  ])("does not overflow: advantage %d (report 63)", async (advantage, expected) => {
    const inputs = matrices([[0]], [[-300]], [[advantage]], [[1]]);
    const { loss, grad } = await run(inputs, actor("gspo"), { tokens: 1, sequences: 1, scaleFactor: 1 });
    expectClose([loss], [expected]);
    expect(Math.abs(grad[0]!)).toBe(0);
  });

  it("gives every token of an answer the gradient −A ρ / tokens", async () => {
    const inputs = matrices([[-1, -1.1]], [[-1.1, -1]], [[0.5, 0.5]], [[1, 1]]);
    expectClose((await run(inputs, actor("gspo"), { tokens: 2, sequences: 1, scaleFactor: 2 })).grad, [-0.25, -0.25]);
  });
});

describe("cispo", () => {
  it("clips the weight and keeps the token's gradient: −clip(ρ) A / tokens", async () => {
    const inputs = matrices([[-1, -1]], [[-1, -3]], [[2, 2]], [[1, 1]]);
    expectClose((await run(inputs, actor("cispo"), { tokens: 2, sequences: 1, scaleFactor: 2 })).grad, [-1, -1.2]);
  });
});

describe("geo_mean", () => {
  it("means over answers that have tokens", async () => {
    const full = matrices([[-1, -1]], [[-1, -1]], [[2, 2]], [[1, 1]]);
    const withEmpty = matrices(
      [
        [-1, -1],
        [0, 0],
      ],
      [
        [-1, -1],
        [0, 0],
      ],
      [
        [2, 2],
        [9, 9],
      ],
      [
        [1, 1],
        [0, 0],
      ],
    );
    const one = { tokens: 2, sequences: 1, scaleFactor: 2 };
    expectClose(
      [(await run(full, actor("geo_mean"), one)).loss, (await run(withEmpty, actor("geo_mean"), one)).loss],
      [-2, -2],
    );
  });
});

describe("kl_cov", () => {
  it("has no slope where old and new policy are the same", async () => {
    const same = matrices([[-1, -2]], [[-1, -2]], [[1, -1]], [[1, 1]]);
    const options = { loss_mode: "kl_cov", kl_cov_ratio: 1, ppo_kl_coef: 10 };
    const { grad } = await run(same, actor("kl_cov", { policy_loss: options }), {
      tokens: 2,
      sequences: 1,
      scaleFactor: 2,
    });
    expectClose(grad, [-0.5, 0.5]);
  });

  it("marks exactly as many tokens as it should, equal ones too", async () => {
    const equal = matrices([[-1, -1, -1, -1]], [[-1, -1, -1, -1]], [[1, 1, 1, 1]], [[1, 1, 1, 0]]);
    const options = actor("kl_cov", { policy_loss: { loss_mode: "kl_cov", kl_cov_ratio: 0.7 } });
    const { kl_cov_tokens } = await prepared(equal, options);
    expect([...kl_cov_tokens!.dataSync()]).toEqual([1, 1, 0, 0]);
  });
});

describe("clip_cov", () => {
  const wide = { clip_cov_lb: -100, clip_cov_ub: 100 };
  const cut = async (ratio: number, inputs = small()): Promise<number[]> => {
    const options = { loss_mode: "clip_cov", clip_cov_ratio: ratio, ...wide };
    const { clip_cov_tokens } = await prepared(inputs, actor("clip_cov", { policy_loss: options }));
    return [...clip_cov_tokens!.dataSync()];
  };

  it("cuts the share that it is told to, the same each time, and never behind the mask or where PPO clips", async () => {
    const all = await cut(1);
    // Tokens 1 and 4: ratios of 1.65 with a positive, and 0.67 with a negative advantage.
    expect(all).toEqual([1, 0, 1, 1, 0, 0, 1, 1, 1]);
    const some = await cut(0.5);
    expect(some.filter((flag) => flag === 1)).toHaveLength(4);
    expect(some.every((flag, i) => flag <= all[i]!)).toBe(true);
    expect(await cut(0.5)).toEqual(some);
    expect((await cut(0.01)).filter((flag) => flag === 1)).toHaveLength(1);
  });

  it("draws other tokens in another step", async () => {
    const draws = Array.from({ length: 12 }, async (_, step) => {
      const moved: tf.Tensor2D = tf.sub(small().log_probs, step * 1e-3);
      return (await cut(0.01, { ...small(), log_probs: moved })).indexOf(1);
    });
    expect(new Set(await Promise.all(draws)).size).toBeGreaterThan(1);
  });
});

describe("names", () => {
  it.each([
    ["clip-cov", "clip_cov"],
    ["kl-cov", "kl_cov"],
    ["geo-mean", "geo_mean"],
    ["gmpo", "geo_mean"],
  ])("%s is %s", (alias, key) => {
    expect(registries.policy_loss.find(alias).key).toBe(key);
  });
});

describe("kthLargest", () => {
  it("is what sorting finds", () => {
    const values = fc.array(fc.oneof(fc.double({ noNaN: true }), fc.constantFrom(0, 1, -Infinity)), { minLength: 1 });
    fc.assert(
      fc.property(values, fc.nat(), (list, n) => {
        const k = (n % list.length) + 1;
        const sorted = Float64Array.from(list).sort().reverse();
        expect(kthLargest(Float64Array.from(list), k) === sorted[k - 1]).toBe(true);
      }),
    );
  });
});
