import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { GAE_SCAN, gaeTensor, GROUP_STATISTICS, groupStatisticsTensor, KL_PENALTY, MASKED_WHITEN } from "verl";
import { testBatchKernels, testFusedKl } from "./batch-kernel-cases.ts";
import { CPU_WITH_KERNELS, HOST_BACKENDS, ort } from "./on-host.ts";
import { valuesOf } from "./values-of.ts";

describe.each(HOST_BACKENDS)("on %s", (backend) => testBatchKernels({ backend, tolerance: 1e-5 }));

testFusedKl(CPU_WITH_KERNELS);

it.each([GAE_SCAN, GROUP_STATISTICS, KL_PENALTY, MASKED_WHITEN])("%s is a kernel there", (name) => {
  expect(tf.getKernel(name, CPU_WITH_KERNELS)).toBeDefined();
  expect(tf.getKernel(name, "cpu")).toBeUndefined();
  // Its graph of KL is faster than the loop.
  expect(tf.getKernel(name, "ort") !== undefined).toBe(name !== KL_PENALTY);
});

it("a recorded graph on ort is not cut, and gives the kernels' numbers", async () => {
  await tf.setBackend("ort");
  const run = (through: (x: tf.Tensor) => tf.Tensor) => {
    const values = through(tf.tensor1d([1, 2, 4, 8, 16, 32]));
    const groups = tf.tensor1d([0, 1, 0, 1, 0, -1], "int32");
    const { mean, std, size } = groupStatisticsTensor(values as tf.Tensor1D, groups, 2);
    const [rewards, mask] = [tf.reshape<tf.Rank.R2>(values, [2, 3]), tf.ones<tf.Rank.R2>([2, 3])];
    const { advantages, returns } = gaeTensor(rewards, tf.ones([2, 3]), mask, { gamma: 0.9, lam: 0.5 });
    return [mean, std, size, advantages, returns];
  };
  const before = ort.stats.runs;
  const kernel = await valuesOf(run((x) => x));
  expect(ort.stats.runs - before).toBe(0);
  const pending = run((x) => tf.add(x, 0));
  expect(ort.stats.runs - before).toBe(0);
  const composed = await valuesOf(pending);
  expect(ort.stats.runs - before).toBe(1);
  composed.forEach((values, i) => values.forEach((value, j) => expect(value).toBeCloseTo(kernel[i]![j]!, 5)));
});
