import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { countDenominators, createAggregate, valueLoss } from "../../core/algorithm/index.ts";
import { registries } from "../../core/registry/index.ts";
import { lossAggs } from "../../plugins/loss-agg/index.ts";
import { registerOrt } from "../../plugins/tensor-backend/ort/register-ort.ts";
import { array, expectClose, flat, vectors, type Matrix } from "./vectors.ts";

type Field = "vpreds" | "returns" | "values" | "response_mask";

interface Case {
  loss_agg_mode: string;
  cliprange_value: number;
  inputs: Record<Field, Matrix>;
  outputs: { vf_loss: number; vf_clipfrac: number; grad_vpreds: Matrix };
}

beforeAll(() => {
  registerOrt({ threads: 1 });
  for (const { key, entry } of lossAggs) registries.loss_agg.register(key, entry);
});

/** Loss, metrics and gradient of the rows from `start` to `end`, with the denominators of all rows. */
function run({ inputs, cliprange_value, loss_agg_mode }: Omit<Case, "outputs">, start = 0, end = Infinity) {
  return tf.tidy(() => {
    const tensor = (field: Field): tf.Tensor2D => {
      const rows = inputs[field].slice(start, end);
      return tf.tensor2d(flat(rows), [rows.length, rows[0]!.length]);
    };
    const agg = createAggregate(
      loss_agg_mode,
      tensor("response_mask"),
      countDenominators(array(inputs.response_mask), null),
    );
    let metrics: Record<string, number> = {};
    const { value, grad } = tf.valueAndGrad((vpreds: tf.Tensor) => {
      const input = { vpreds: vpreds as tf.Tensor2D, values: tensor("values"), returns: tensor("returns") };
      const output = valueLoss(input, cliprange_value, agg);
      metrics = Object.fromEntries(Object.entries(output.metrics).map(([name, share]) => [name, share.dataSync()[0]!]));
      return output.loss;
    })(tensor("vpreds"));
    return { loss: value.dataSync()[0]!, metrics, grad: Float32Array.from(grad.dataSync()) };
  });
}

describe.each(["cpu", "ort"])("the value loss on %s", (backend) => {
  beforeAll(async () => {
    await tf.setBackend(backend);
  });

  const cases = vectors<Case>("value_loss");

  it.each(cases.map((one, i) => [i, one.loss_agg_mode, one] as const))(
    "gives the reference's loss, clip fraction and gradient: %i, %s",
    (_, __, one) => {
      const { loss, metrics, grad } = run(one);
      expectClose([loss], [one.outputs.vf_loss]);
      expect(metrics["critic/vf_loss"]).toBe(loss);
      expectClose([metrics["critic/vf_clipfrac"]!], [one.outputs.vf_clipfrac]);
      expectClose(grad, flat(one.outputs.grad_vpreds));
    },
  );

  // A departure: verl counts the denominators of each micro-batch, so that rows in short ones weigh more.
  it.each(["token-mean", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"])(
    "sums to the same loss, metrics and gradient however the step is split: %s",
    (loss_agg_mode) => {
      const one = { ...cases[0]!, loss_agg_mode };
      const whole = run(one);
      const parts = [run(one, 0, 3), run(one, 3, 4), run(one, 4)];
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

  it.each(["vpreds", "returns", "values"] as const)("reads no %s behind the mask", (field) => {
    const one = cases[0]!;
    const spoilt = one.inputs[field].map((row, r) =>
      row.map((cell, t) => (one.inputs.response_mask[r]![t] === 0 ? ("nan" as const) : cell)),
    );
    expect(spoilt.flat()).toContain("nan");
    expect(run({ ...one, inputs: { ...one.inputs, [field]: spoilt } })).toEqual(run(one));
  });

  it("learns nothing from a step without a token", () => {
    const inputs = {
      ...cases[0]!.inputs,
      response_mask: cases[0]!.inputs.response_mask.map((row) => row.map(() => 0)),
    };
    const { loss, grad } = run({ ...cases[0]!, inputs });
    expect(loss).toBe(0);
    expect(grad.every((value) => value === 0)).toBe(true);
  });

  it("[verl-facts A.3] takes the worse of the plain and the clipped error", () => {
    const inputs = { vpreds: [[1, 2, 3]], returns: [[0.5, 0, 3.5]], values: [[0.2, 2.2, 1]] };
    const of = (response_mask: number[]) =>
      run({ inputs: { ...inputs, response_mask: [response_mask] }, cliprange_value: 0.5, loss_agg_mode: "token-mean" });
    expect(of([1, 1, 0]).loss).toBeCloseTo(1.0625, 6);
    expect(of([1, 1, 0]).metrics["critic/vf_clipfrac"]).toBe(0);
    expect(of([1, 1, 1]).loss).toBeCloseTo(1.375, 6);
    expect(of([1, 1, 1]).metrics["critic/vf_clipfrac"]).toBeCloseTo(1 / 3, 6);
    expect(of([1, 1, 1]).metrics["critic/vpred_mean"]).toBeCloseTo(2, 6);
  });
});
