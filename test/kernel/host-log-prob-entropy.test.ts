import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { LINEAR_LOG_PROB_ENTROPY, LOG_PROB_ENTROPY, logProbEntropy } from "verl";
import { testLinearLogProbEntropy } from "./linear-log-prob-entropy-cases.ts";
import { testLogProbEntropy } from "./log-prob-entropy-cases.ts";
import { CPU_WITH_KERNELS, HOST_BACKENDS } from "./on-host.ts";
import { matrix } from "./row-reference.ts";

describe.each(HOST_BACKENDS)("on %s", (backend) => {
  testLogProbEntropy({ backend, tolerance: 1e-5 });
  testLinearLogProbEntropy({ backend, tolerance: 1e-5 });
});

it.each([LOG_PROB_ENTROPY, LINEAR_LOG_PROB_ENTROPY])(
  "%s is a kernel there, and composed where it is compared",
  (name) => {
    expect(tf.getKernel(name, CPU_WITH_KERNELS)).toBeDefined();
    expect(tf.getKernel(name, "cpu")).toBeUndefined();
    // Its graphs are faster than loops.
    expect(tf.getKernel(name, "ort")).toBeUndefined();
  },
);

it.each(HOST_BACKENDS)("float16 logits are refused on %s", async (backend) => {
  await tf.setBackend(backend);
  const halves = { halves: tf.zeros<tf.Rank.R2>([2, 3], "int32"), columns: 6 };
  expect(() => logProbEntropy(halves, tf.tensor1d([0, 1], "int32"))).toThrow(/no kernel for float16/);
});

it("a target that is none has no log-prob, and no other row's", async () => {
  await tf.setBackend(CPU_WITH_KERNELS);
  const logits = tf.tensor2d(matrix(3, 5, 1, 1), [3, 5]);
  const { log_probs, entropy } = logProbEntropy(logits, tf.tensor1d([-1, 5, 2], "int32"));
  expect([...(await log_probs.data())].map(Number.isNaN)).toEqual([true, true, false]);
  expect((await entropy.data()).every(Number.isFinite)).toBe(true);
});
