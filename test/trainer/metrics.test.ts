import { describe, expect, it } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { computeBalanceMetrics } from "../../core/trainer/metrics/balance-metrics.ts";
import { computeDataMetrics } from "../../core/trainer/metrics/data-metrics.ts";
import { reductionOf } from "../../core/trainer/metrics/reductions.ts";
import { StepMetrics } from "../../core/trainer/metrics/step-metrics.ts";
import { computeThroughputMetrics, computeTimingMetrics } from "../../core/trainer/metrics/timing-metrics.ts";

const floats = (rows: number[][]) =>
  new NdArray("float32", [rows.length, rows[0]!.length], Float32Array.from(rows.flat()));
const ints = (rows: number[][]) => new NdArray("int32", [rows.length, rows[0]!.length], Int32Array.from(rows.flat()));

/** Three rows, the second aborted; responses up to 3 tokens, prompts up to 3. */
function batchOf(overrides: Record<string, NdArray> = {}): DataProto {
  const mask = [[1, 1, 1], [0, 0, 0], [1, 1, 0]]; // prettier-ignore
  const prompts = [[0, 1, 1], [1, 1, 1], [1, 1, 1]]; // prettier-ignore
  return new DataProto({
    batch: {
      attention_mask: ints(prompts.map((row, i) => [...row, ...mask[i]!])),
      response_mask: ints(mask),
      token_level_scores: floats([[0, 0, 1], [0, 0, 0], [0, 0.5, 0]]), // prettier-ignore
      token_level_rewards: floats([[0, 0, 0.9], [0, 0, 0], [0, 0.4, 0]]), // prettier-ignore
      advantages: floats([[0.1, 0.2, 0.3], [9, 9, 9], [0.1, 0.3, 9]]), // prettier-ignore
      returns: floats([[1, 0.9, 0.8], [9, 9, 9], [0.7, 0.6, 9]]), // prettier-ignore
      ...overrides,
    },
    nonTensorBatch: { __num_turns__: [2, 1, 4] },
  });
}

describe("reductionOf", () => {
  it.each([
    ["critic/score/max", "max"],
    ["rollout_corr/rollout_is_min", "min"],
    ["perf/max_memory_allocated_gb", "max"],
    ["timing_s/gen", "sum"],
    ["timing_s/agent_loop/generate_sequences/max", "max"],
    ["timing_s/agent_loop/generate_sequences/mean", "mean"],
    ["tool/dropped_count", "sum"],
    ["actor/pg_loss", "mean"],
    // verl looks for the letters anywhere, and takes the minimum or maximum of these.
    ["admin/loss", "mean"],
    ["tool/determinant", "mean"],
    ["climax/score", "mean"],
    ["global_seqlen/minmax_diff", "mean"],
    ["maximum", "mean"],
  ])("gives %s the reduction %s", (name, reduction) => {
    expect(reductionOf(name)).toBe(reduction);
  });
});

describe("StepMetrics", () => {
  it("reduces by name, or as it was told", () => {
    const metrics = new StepMetrics();
    for (const value of [1, 4, 2]) {
      metrics.addAll({ "a/loss": value, "a/x_max": value, "a/x_min": value, "a/seen_count": value });
      metrics.add("a/tokens", value, "sum");
    }
    expect(metrics.finish()).toEqual({ "a/loss": 7 / 3, "a/x_max": 4, "a/x_min": 1, "a/seen_count": 7, "a/tokens": 7 });
    expect(metrics.finish()).toEqual({});
  });

  it("does not hide a NaN in any reduction", () => {
    const metrics = new StepMetrics();
    for (const value of [1, Number.NaN, 2]) metrics.addAll({ "a/loss": value, "a/max": value, "a/min": value });
    expect(metrics.finish()).toEqual({ "a/loss": Number.NaN, "a/max": Number.NaN, "a/min": Number.NaN });
  });

  it("refuses two reductions of one name, and names both", () => {
    const metrics = new StepMetrics();
    metrics.add("a/tokens", 1, "sum");
    expect(() => metrics.add("a/tokens", 1)).toThrow(
      expect.objectContaining({
        code: "VERL_METRIC_REDUCTION",
        message: expect.stringMatching(/sum and now with mean/),
      }),
    );
  });

  it("accumulates timers, failing runs included, and passes results and errors through", async () => {
    const metrics = new StepMetrics();
    await expect(metrics.timer("gen")(() => 5)).resolves.toBe(5);
    const once = metrics.timings()["gen"]!;
    await expect(metrics.timer("gen")(() => Promise.reject(new Error("stop")))).rejects.toThrow("stop");
    const twice = metrics.timings()["gen"]!;
    expect(twice).toBeGreaterThan(once);
    expect(metrics.finish()).toEqual({ "timing_s/gen": twice });
  });
});

describe("computeDataMetrics", () => {
  it("equals verl's numbers, aborted rows left out of scores", () => {
    const metrics = computeDataMetrics(batchOf());
    const expected = {
      "critic/score/mean": 0.75,
      "critic/score/max": 1,
      "critic/score/min": 0.5,
      "critic/rewards/mean": 0.65,
      "critic/advantages/mean": 0.2,
      "critic/returns/mean": 0.8,
      "response_length/mean": 5 / 3,
      "response_length/clip_ratio": 1 / 3,
      "response_length_non_aborted/mean": 2.5,
      "response_length_non_aborted/clip_ratio": 0.5,
      "response/aborted_ratio": 1 / 3,
      "prompt_length/mean": 8 / 3,
      "prompt_length/clip_ratio": 2 / 3,
      "num_turns/max": 4,
    };
    for (const [name, value] of Object.entries(expected))
      expect([name, metrics[name]]).toEqual([name, expect.closeTo(value, 6)]);
    expect(metrics).not.toHaveProperty("critic/values/mean");
  });

  it("explains the variance of returns by the critic with sample variances", () => {
    const values = floats([[0.5, 0.4, 0.4], [9, 9, 9], [0.4, 0.4, 9]]); // prettier-ignore
    const metrics = computeDataMetrics(batchOf({ values }));
    // Errors .5 .5 .4 .3 .2: variance .017; returns 1 .9 .8 .7 .6: variance .025.
    expect(metrics["critic/vf_explained_var"]).toBeCloseTo(1 - 0.017 / (0.025 + 1e-5), 5);
    expect(metrics["critic/values/mean"]).toBeCloseTo(0.42, 6);
  });

  it("leaves unscored rows out of scores, advantages, returns and values, and padding rows out of everything", () => {
    const unscored = new NdArray("uint8", [3], Uint8Array.of(1, 0, 0));
    const values = floats([[1, 1, 1], [9, 9, 9], [0.7, 0.6, 9]]); // prettier-ignore
    const metrics = computeDataMetrics(batchOf({ unscored, values }));
    expect(metrics["critic/score/mean"]).toBeCloseTo(0.5, 6);
    expect(metrics["critic/advantages/mean"]).toBeCloseTo(0.2, 6);
    expect(metrics["critic/returns/mean"]).toBeCloseTo(0.65, 6);
    expect(metrics["critic/values/max"]).toBeCloseTo(0.7, 6);
    expect(metrics["critic/vf_explained_var"]).toBeCloseTo(1, 6);
    expect(computeDataMetrics(batchOf().padToDivisor(8))).toEqual(computeDataMetrics(batchOf()));
  });

  it("reports a wholly aborted batch instead of failing", () => {
    const metrics = computeDataMetrics(batchOf().index([1]));
    expect(metrics["response/aborted_ratio"]).toBe(1);
    expect(Object.keys(metrics).filter((name) => name.startsWith("critic/"))).toEqual([]);
    expect(Object.values(metrics).every(Number.isFinite)).toBe(true);
  });
});

describe("timing, throughput and balance", () => {
  it("equals verl's numbers", () => {
    const perToken = computeTimingMetrics({ gen: 2, ref: 1, adv: 0.1, reward: 3 }, { response: 5, all: 13 });
    expect(perToken).toEqual({
      "timing_per_token_ms/gen": 400,
      "timing_per_token_ms/ref": expect.closeTo(76.92308, 5),
      "timing_per_token_ms/adv": expect.closeTo(7.692308, 6),
    });
    expect(computeThroughputMetrics(13, 2, 4)).toEqual({
      "perf/total_num_tokens": 13,
      "perf/time_per_step": 2,
      "perf/throughput": 1.625,
    });
  });

  it("reports no time a token for a step without tokens", () => {
    expect(computeTimingMetrics({ gen: 2, adv: 1 }, { response: 0, all: 0 })).toEqual({});
  });

  it("compares the plain cut of the batch with the balanced one", () => {
    expect(
      computeBalanceMetrics(
        [5, 3, 8, 1, 9, 2],
        [
          [1, 4, 5],
          [0, 2, 3],
        ],
      ),
    ).toEqual({
      // prettier-ignore
      "global_seqlen/min": 12,
      "global_seqlen/max": 16,
      "global_seqlen/minmax_diff": 4,
      "global_seqlen/balanced_min": 14,
      "global_seqlen/balanced_max": 14,
      "global_seqlen/mean": 14,
    });
  });
});
