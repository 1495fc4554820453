import { beforeEach, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { composedLinearLogProbEntropy, linearLogProbEntropy } from "verl";
import type { Kernel } from "./kernel.ts";
import { relativeError } from "./relative-error.ts";
import { listed, matrix, NAMES, reference, targetsOf, weightedSum } from "./row-reference.ts";
import { valuesOf } from "./values-of.ts";

interface Case {
  readonly hidden: Float32Array;
  readonly weight: Float32Array;
  readonly width: number;
  readonly temperature?: number;
  readonly pieceElements?: number;
}

/** Defines the tests that `linear_log_prob_entropy` passes on each backend, by a kernel or composed. */
export function testLinearLogProbEntropy({ backend, tolerance, poison }: Kernel): void {
  beforeEach(async () => {
    await tf.setBackend(backend);
  });

  async function run(of: typeof linearLogProbEntropy, one: Case): Promise<Float32Array[]> {
    const { width, temperature = 1, pieceElements } = one;
    const [tokens, vocabulary] = [one.hidden.length / width, one.weight.length / width];
    const options = { temperature, ...(pieceElements !== undefined && { pieceElements }) };
    const hidden = tf.tensor2d(one.hidden, [tokens, width]);
    const weight = tf.tensor2d(one.weight, [vocabulary, width]);
    const ids = tf.tensor1d(targetsOf(tokens, vocabulary), "int32");
    const outputs = of(hidden, weight, ids, NAMES, options);
    const gradients = tf.grads((x, w) => weightedSum(of(x as tf.Tensor2D, w as tf.Tensor2D, ids, NAMES, options)))([
      hidden,
      weight,
    ]);
    const values = await valuesOf([...listed(outputs), ...gradients]);
    tf.dispose([hidden, weight, ids, outputs, gradients]);
    return values;
  }

  async function expectExact(one: Case): Promise<void> {
    const { hidden, weight, width } = one;
    await poison?.(hidden.length, 2);
    await poison?.(weight.length, 2);
    const got = await run(linearLogProbEntropy, one);
    const expected = exact(one);
    NAMES.forEach((_, k) => expect(relativeError(got[k]!, expected.outputs[k]!)).toBeLessThan(tolerance));
    expect(got[4]).toHaveLength(hidden.length);
    expect(got[5]!.length / width).toBe(weight.length / width);
    expect(relativeError(got[4]!, expected.dHidden)).toBeLessThan(tolerance);
    expect(relativeError(got[5]!, expected.dWeight)).toBeLessThan(tolerance);
  }

  describe("linear_log_prob_entropy", () => {
    it.each([
      [5, 4, 23, 0],
      [1, 1, 1, 0],
      [130, 32, 300, 64 * 130],
      [7, 33, 1_001, 7 * 128],
      [140, 64, 515, 1],
      [2, 3, 120_001, 0],
    ])(
      "equals float64, and so do its gradients: %i × %i × %i in pieces of %i",
      async (tokens, width, vocabulary, pieceElements) => {
        const weight = matrix(vocabulary, width, 2, 0.5);
        const hidden = matrix(tokens, width, 1, 0.5);
        await expectExact({ hidden, weight, width, temperature: 0.8, ...(pieceElements > 0 && { pieceElements }) });
      },
    );

    // Products of integers, which float32 holds.
    const integers = (rows: number, seed: number, scale: number) => matrix(rows, 3, seed, scale).map(Math.round);
    it.each([
      ["near ±10,000", integers(4, 5, 60), integers(200, 6, 60)],
      ["equal and large", integers(4, 5, 60), Float32Array.from({ length: 3 * 90 }, (_, i) => [70, -60, 50][i % 3]!)],
      ["equal", new Float32Array(4 * 3), integers(90, 6, 60)],
    ])("does so for logits %s", async (_, hidden, weight) => {
      await expectExact({ hidden, weight, width: 3 });
      await expectExact({ hidden, weight, width: 3, pieceElements: 4 * 64 });
    });

    it("equals the composed reference", async () => {
      const one = { hidden: matrix(9, 16, 1, 1), weight: matrix(300, 16, 2, 1), width: 16, pieceElements: 9 * 64 };
      const got = await run(linearLogProbEntropy, one);
      await tf.setBackend("cpu");
      const expected = await run(composedLinearLogProbEntropy, one);
      got.forEach((values, k) => expect(relativeError(values, expected[k]!)).toBeLessThan(tolerance));
    });
  });
}

/** Outputs and gradients in float64. */
function exact({ hidden, weight, width, temperature = 1 }: Case) {
  const [tokens, vocabulary] = [hidden.length / width, weight.length / width];
  const targets = targetsOf(tokens, vocabulary);
  const outputs = NAMES.map(() => new Float64Array(tokens));
  const [dHidden, dWeight] = [new Float64Array(hidden.length), new Float64Array(weight.length)];
  for (let token = 0; token < tokens; token += 1) {
    const logits = new Float64Array(vocabulary);
    for (let j = 0; j < vocabulary; j += 1) {
      for (let k = 0; k < width; k += 1) logits[j]! += hidden[token * width + k]! * weight[j * width + k]!;
    }
    const row = reference(logits, targets[token]!, temperature);
    row.outputs.forEach((value, k) => (outputs[k]![token] = value));
    for (let j = 0; j < vocabulary; j += 1) {
      for (let k = 0; k < width; k += 1) {
        dHidden[token * width + k]! += row.gradient[j]! * weight[j * width + k]!;
        dWeight[j * width + k]! += row.gradient[j]! * hidden[token * width + k]!;
      }
    }
  }
  return { outputs, dHidden, dWeight };
}
