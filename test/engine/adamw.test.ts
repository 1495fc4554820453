import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import type { OptimConfig } from "verl";
import { AdamW, learningRate } from "../../plugins/engine/embedded/adamw.ts";
import { OPTIM } from "./support/tiny-model.ts";

const rates = (optim: Partial<OptimConfig>, total: number, steps: number[]) =>
  steps.map((step) => learningRate({ ...OPTIM, lr: 1, ...optim }, step, total));

describe("learningRate", () => {
  it("is constant without warm-up", () => expect(rates({}, 10, [0, 5, 99])).toEqual([1, 1, 1]));

  it("warms up linearly from 0, by steps or by share", () => {
    const warm = [0, 0.25, 0.5, 0.75, 1, 1];
    expect(rates({ lr_warmup_steps: 4 }, 100, [0, 1, 2, 3, 4, 5])).toEqual(warm);
    expect(rates({ lr_warmup_steps: -1, lr_warmup_steps_ratio: 0.4 }, 10, [0, 1, 2, 3, 4, 5])).toEqual(warm);
  });

  it("falls by a cosine to its floor", () => {
    const cosine = { lr_scheduler_type: "cosine", lr_warmup_steps: 2, min_lr_ratio: 0.1 } as const;
    const [start, middle, end] = rates(cosine, 10, [2, 6, 10]);
    expect(start).toBe(1);
    expect(middle).toBeCloseTo(0.55, 12);
    expect(end).toBeCloseTo(0.1, 12);
    expect(rates({ ...cosine, num_cycles: 1 }, 10, [10])[0]).toBeCloseTo(1, 12);
  });
});

describe("AdamW", () => {
  const config = { ...OPTIM, lr: 0.1, weight_decay: 0.5, clip_grad: 1 };
  const start = { matrix: [1, -2, 3, 4], norm: [1, 1] };

  function make() {
    const weights = { matrix: tf.tensor2d(start.matrix, [2, 2]), norm: tf.tensor1d(start.norm) } as Record<
      string,
      tf.Tensor
    >;
    return { weights, optimizer: new AdamW(config, 0, weights) };
  }

  it("follows the paper's formula in float64, decay on matrices only, gradients clipped together", async () => {
    const made = make();
    let { weights } = made;
    const wanted = { matrix: [...start.matrix], norm: [...start.norm] };
    const moments = { matrix: { m: [0, 0, 0, 0], v: [0, 0, 0, 0] }, norm: { m: [0, 0], v: [0, 0] } };
    for (let step = 1; step <= 4; step += 1) {
      const gradients = { matrix: [0.5 * step, -1, 2, 0], norm: [3, -0.1 * step] };
      const length = Math.hypot(...gradients.matrix, ...gradients.norm);
      for (const name of ["matrix", "norm"] as const) {
        gradients[name].forEach((raw, i) => {
          const { m, v } = moments[name];
          const g = raw * Math.min(1, config.clip_grad / (length + 1e-6));
          m[i] = 0.9 * m[i]! + 0.1 * g;
          v[i] = 0.95 * v[i]! + 0.05 * g * g;
          const decayed = wanted[name][i]! * (name === "matrix" ? 1 - config.lr * config.weight_decay : 1);
          wanted[name][i] =
            decayed - (config.lr * (m[i] / (1 - 0.9 ** step))) / (Math.sqrt(v[i] / (1 - 0.95 ** step)) + config.eps);
        });
      }
      const proposal = made.optimizer.propose(weights, {
        matrix: tf.tensor2d(gradients.matrix, [2, 2]),
        norm: tf.tensor1d(gradients.norm),
      });
      expect((await proposal.gradNorm.data())[0]).toBeCloseTo(length, 5);
      made.optimizer.accept(proposal);
      weights = proposal.weights;
      for (const name of ["matrix", "norm"] as const) {
        (await weights[name]!.data()).forEach((value, i) => expect(value).toBeCloseTo(wanted[name][i]!, 5));
      }
    }
  });

  it("forgets a rejected step, while the schedule goes on", async () => {
    const { weights, optimizer } = make();
    const gradients = { matrix: tf.ones([2, 2]), norm: tf.ones([2]) };
    const first = optimizer.propose(weights, gradients);
    const expected = await first.weights["matrix"]!.data();
    optimizer.reject(first);
    const again = optimizer.propose(weights, gradients);
    expect(await again.weights["matrix"]!.data()).toEqual(expected);
    const state = { arrays: new Map(), json: {} };
    await optimizer.saveState(state);
    expect(state.json).toEqual({ optimizer: { applied: 0, scheduled: 1 } });
  });
});
