import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { resolveKlPenalty } from "../../core/algorithm/index.ts";
import { loadPlugins } from "../../core/registry/index.ts";
import { testKlPenalty } from "../../core/testing/index.ts";

beforeAll(async () => {
  await loadPlugins([]);
  await tf.setBackend("cpu");
});

const log = (probabilities: readonly number[]): number[] => probabilities.map(Math.log);

describe("full", () => {
  it("is the divergence that k1 estimates: its mean over the policy's own tokens", () => {
    const [p, q] = [log([0.7, 0.2, 0.1]), log([0.2, 0.3, 0.5])];
    const k1 = resolveKlPenalty("k1");
    const estimates = k1.compute(tf.tensor2d([p]), tf.tensor2d([q])).dataSync() as Float32Array;
    const mean = estimates.reduce((sum, estimate, token) => sum + Math.exp(p[token]!) * estimate, 0);
    const exact = resolveKlPenalty("full").compute(tf.tensor3d([[p]]), tf.tensor3d([[q]]));
    expect(exact.shape).toEqual([1, 1]);
    expect(exact.dataSync()[0]).toBeCloseTo(mean, 6);
  });

  it("has no straight-through form", () => {
    expect(() => resolveKlPenalty("full+")).toThrow(expect.objectContaining({ code: "VERL_ALGORITHM_CONFIG" }));
  });
});

await loadPlugins([]);
// By hand: Σ p ln(p/q), and d/d ln p = p (ln(p/q) + 1), each of free numbers.
testKlPenalty("full", {
  cases: [
    {
      name: "two tokens of two words",
      input: {
        log_prob: [log([0.5, 0.5]), log([0.9, 0.1])],
        ref_log_prob: [log([0.25, 0.75]), log([0.9, 0.1])],
      },
      expected: {
        kl: [[0.5 * Math.log(2) + 0.5 * Math.log(2 / 3)], [0]],
        gradient: [
          [0.5 * (Math.log(2) + 1), 0.5 * (Math.log(2 / 3) + 1)],
          [0.9, 0.1],
        ],
      },
    },
  ],
});
