import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { registerOrt } from "../../plugins/tensor-backend/ort/register-ort.ts";
import { runValueLoss as run, type ValueLossCase } from "./value-loss-cases.ts";
import { expectClose, vectors } from "./vectors.ts";

beforeAll(() => {
  registerOrt({ threads: 1 });
});

describe.each(["cpu", "ort"])("the value loss on %s", (backend) => {
  beforeAll(async () => {
    await tf.setBackend(backend);
  });

  const cases = vectors<ValueLossCase>("value_loss");

  // A departure: verl counts the denominators of each micro-batch, so that rows in short ones weigh more.
  it.each(["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"])(
    "sums to the same loss, metrics and gradient however the step is split: %s",
    async (loss_agg_mode) => {
      const one = { ...cases[0]!, loss_agg_mode };
      const whole = await run(one);
      const parts = await Promise.all([run(one, 0, 3), run(one, 3, 4), run(one, 4)]);
      expectClose([parts.reduce((sum, { loss }) => sum + loss, 0)], [whole.loss]);
      for (const [name, value] of Object.entries(whole.metrics)) {
        expectClose([parts.reduce((sum, { metrics }) => sum + metrics[name]!, 0)], [value]);
      }
      expectClose(
        parts.flatMap(({ grad }) => [...grad]),
        whole.grad,
      );
    },
  );

  it.each(["vpreds", "returns", "values"] as const)("reads no %s behind the mask", async (field) => {
    const one = cases[0]!;
    const spoilt = one.inputs[field].map((row, r) =>
      row.map((cell, t) => (one.inputs.response_mask[r]![t] === 0 ? ("nan" as const) : cell)),
    );
    expect(spoilt.flat()).toContain("nan");
    expect(await run({ ...one, inputs: { ...one.inputs, [field]: spoilt } })).toEqual(await run(one));
  });

  it("learns nothing from a step without a token", async () => {
    const inputs = {
      ...cases[0]!.inputs,
      response_mask: cases[0]!.inputs.response_mask.map((row) => row.map(() => 0)),
    };
    const { loss, grad } = await run({ ...cases[0]!, inputs });
    expect(loss).toBe(0);
    expect(grad.every((value) => value === 0)).toBe(true);
  });

  it("[verl-facts A.3] takes the worse of the plain and the clipped error", async () => {
    const inputs = { vpreds: [[1, 2, 3]], returns: [[0.5, 0, 3.5]], values: [[0.2, 2.2, 1]] };
    const of = (response_mask: number[]) =>
      run({ inputs: { ...inputs, response_mask: [response_mask] }, cliprange_value: 0.5, loss_agg_mode: "token-mean" });
    const two = await of([1, 1, 0]);
    expect(two.loss).toBeCloseTo(1.0625, 6);
    expect(two.metrics["critic/vf_clipfrac"]).toBe(0);
    const three = await of([1, 1, 1]);
    expect(three.loss).toBeCloseTo(1.375, 6);
    expect(three.metrics["critic/vf_clipfrac"]).toBeCloseTo(1 / 3, 6);
    expect(three.metrics["critic/vpred_mean"]).toBeCloseTo(2, 6);
  });
});
