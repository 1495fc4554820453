import { describe, expect, it } from "@jest/globals";
import { createKlController, applyKlPenalty, maskedMean, maskedVar, maskedWhiten } from "../../core/algorithm/index.ts";
import { NdArray } from "../../core/batch/index.ts";
import { expectClose, flat, vectors, type Matrix } from "./vectors.ts";

interface Case {
  fn: "masked_mean" | "masked_var" | "masked_whiten";
  shift_mean?: boolean;
  unbiased?: boolean;
  inputs: { values: Matrix; response_mask: Matrix };
  outputs: number | Matrix;
}

describe("masked statistics", () => {
  it.each(vectors<Case>("masked").map((one, i) => [i, one.fn, one] as const))(
    "give the reference's numbers: case %i, %s",
    (_, fn, one) => {
      const [values, mask] = [flat(one.inputs.values), flat(one.inputs.response_mask)];
      if (fn === "masked_mean") expectClose([maskedMean(values, mask)], [one.outputs as number]);
      if (fn === "masked_var") expectClose([maskedVar(values, mask, one.unbiased)], [one.outputs as number]);
      if (fn === "masked_whiten")
        expectClose(maskedWhiten(values, mask, one.shift_mean), flat(one.outputs as Matrix), mask);
    },
  );

  it("ignore NaN behind the mask and are defined without tokens", () => {
    expect(maskedMean([1, NaN, 3], [1, 0, 1])).toBe(2);
    expect(maskedVar([1, NaN, 3], [1, 0, 1])).toBe(2);
    expect([...maskedWhiten([NaN, 5], [0, 1])]).toEqual([0, 0]);
    expect(maskedMean([NaN], [0])).toBe(0);
  });
});

describe("KL in the reward", () => {
  it("steers the coefficient as the reference does", () => {
    const [sample] = vectors<{
      kl_coef: number;
      target_kl: number;
      horizon: number;
      updates: [number, number, number][];
    }>("kl_controller");
    const { updates, ...config } = sample!;
    const controller = createKlController({ ...config, type: "adaptive" });
    for (const [kl, samples, after] of updates) {
      controller.update(kl, samples);
      expectClose([controller.value], [after]);
    }
  });

  it("stays where it is when fixed, and goes on from a saved value", () => {
    const config = { type: "fixed" as const, kl_coef: 0.1, target_kl: 1, horizon: 10 };
    const fixed = createKlController(config);
    fixed.update(100, 100);
    expect(fixed.value).toBe(0.1);
    expect(createKlController({ ...config, type: "adaptive" }, 0.7).value).toBe(0.7);
  });

  it("takes β · KL from unmasked tokens, and means rows over their tokens", () => {
    const scores = new NdArray("float32", [3, 2], Float32Array.of(0, 1, 1, 0, 0, 0));
    const mask = new NdArray("int32", [3, 2], Int32Array.of(1, 1, 1, 0, 0, 0));
    const { token_level_rewards, kl } = applyKlPenalty(scores, [1, 3, 4, NaN, NaN, NaN], mask, 0.5);
    expectClose(token_level_rewards.data, [-0.5, -0.5, -1, 0, 0, 0]);
    expect(kl).toBe(3);
    expect(scores.data[0]).toBe(0);
  });
});
