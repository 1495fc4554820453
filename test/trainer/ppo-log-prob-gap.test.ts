import { describe, expect, it } from "@jest/globals";
import { NdArray } from "../../core/batch/nd-array.ts";
import { logProbGap } from "../../core/trainer/ppo-log-prob-gap.ts";

const floats = (values: number[]) => new NdArray("float32", [1, values.length], Float32Array.from(values));
const mask = (values: number[]) => new NdArray("int32", [1, values.length], Int32Array.from(values));

describe("logProbGap", () => {
  it("compares probabilities and log-probs of unmasked tokens alone", () => {
    const rollout = [Math.log(0.5), Math.log(0.25), NaN, Math.log(0.8)];
    const trainer = [Math.log(0.4), Math.log(0.25), 7, Math.log(0.6)];
    const gap = logProbGap(floats(rollout), floats(trainer), mask([1, 1, 0, 1]));
    expect(gap["training/rollout_probs_diff_valid"]).toBe(1);
    expect(gap["training/rollout_probs_diff_mean"]).toBeCloseTo(0.1, 6);
    expect(gap["training/rollout_probs_diff_max"]).toBeCloseTo(0.2, 6);
    expect(gap["training/rollout_probs_diff_std"]).toBeCloseTo(0.1, 6);
    expect(gap["training/rollout_logprobs_diff_max"]).toBeCloseTo(Math.log(0.8 / 0.6), 6);
    // r of (0.5, 0.25, 0.8) and (0.4, 0.25, 0.6)
    expect(gap["training/rollout_actor_probs_pearson_corr"]).toBeCloseTo(0.99955, 4);
  });

  it("reports no gap for equal log-probs, and no correlation where nothing varies", () => {
    const same = floats([-1, -1]);
    const gap = logProbGap(same, same, mask([1, 1]));
    expect(gap["training/rollout_probs_diff_max"]).toBe(0);
    expect(gap).not.toHaveProperty("training/rollout_actor_probs_pearson_corr");
  });

  it("says so when there is nothing to compare", () => {
    expect(logProbGap(floats([-1]), floats([-2]), mask([0]))).toEqual({ "training/rollout_probs_diff_valid": 0 });
  });
});
