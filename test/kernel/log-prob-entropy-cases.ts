import { beforeEach, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { composedLogProbEntropy, logProbEntropy, type RowDistributions } from "verl";
import type { Kernel } from "./kernel.ts";
import { relativeError } from "./relative-error.ts";
import { listed, matrix, NAMES, reference, SLOPES, targetsOf, weightedSum } from "./row-reference.ts";
import { valuesOf } from "./values-of.ts";

/** Defines the tests that `log_prob_entropy` passes on each backend, by a kernel or composed. */
export function testLogProbEntropy({ backend, tolerance, rounding = 0, poison }: Kernel): void {
  beforeEach(async () => {
    await tf.setBackend(backend);
  });

  async function run(logits: Float32Array, targets: Int32Array, temperature: number): Promise<Float32Array[]> {
    const rows = targets.length;
    const [x, ids] = [tf.tensor2d(logits, [rows, logits.length / rows]), tf.tensor1d(targets, "int32")];
    await poison?.(rows);
    await poison?.(logits.length, 2);
    const outputs = listed(logProbEntropy(x, ids, { temperature }));
    const slope = tf.grad((at) => weightedSum(logProbEntropy(at as tf.Tensor2D, ids, { temperature })))(x);
    const values = await valuesOf([...outputs, slope]);
    tf.dispose([x, ids, slope, ...outputs]);
    return values;
  }

  async function expectExact(
    logits: Float32Array,
    rows: number,
    temperature = 1,
    targets = targetsOf(rows, logits.length / rows),
  ): Promise<void> {
    const columns = logits.length / rows;
    const got = await run(logits, targets, temperature);
    const expected = Array.from(targets, (target, row) =>
      reference(logits.subarray(row * columns, (row + 1) * columns), target, temperature),
    );
    NAMES.forEach((_, k) => {
      const exact = expected.map(({ outputs }) => outputs[k]!);
      expect(relativeError(got[k]!, exact)).toBeLessThan(tolerance);
    });
    const slopes = expected.flatMap(({ gradient }) => [...gradient]);
    const unit = Math.sqrt(slopes.reduce((sum, slope) => sum + slope * slope, 0)) || 1;
    const floor = (rounding * Math.hypot(...SLOPES) * Math.sqrt(rows)) / unit;
    expect(relativeError(got[4]!, slopes)).toBeLessThan(tolerance + floor);
  }

  describe("log_prob_entropy", () => {
    it("equals float64 for any number of rows and any vocabulary", async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 5 }),
          fc.integer({ min: 1, max: 3_000 }),
          fc.constantFrom(0.1, 1, 10),
          fc.constantFrom(0.5, 1, 1.7),
          fc.nat(),
          (rows, columns, scale, temperature, seed) =>
            expectExact(matrix(rows, columns, seed, scale), rows, temperature),
        ),
        { numRuns: 12, seed: 4 },
      );
    });

    it.each([
      ["far apart", matrix(3, 500, 1, 300), 3],
      ["near ±10,000", matrix(4, 300, 2, 1).map((z, i) => (i % 7 === 0 ? 1e4 : -1e4) + z), 4],
      ["all 10,000 and more", matrix(3, 512, 2, 1).map((z) => 1e4 + z), 3],
      ["equal", new Float32Array(3 * 777).fill(-2.5), 3],
      ["equal and large", new Float32Array(2 * 50).fill(1e4), 2],
      ["of a vocabulary of one", Float32Array.of(3, -1e4, 0), 3],
      ["of a vocabulary of 120,001", matrix(2, 120_001, 9, 3), 2],
    ])("does so for logits %s", async (_, logits, rows) => {
      for (const temperature of [1, 0.7]) await expectExact(logits, rows, temperature);
    });

    it.each([3, 8, 13, 18, 40])("does so where one token leads by %i, for it and for another", async (lead) => {
      const columns = 300;
      const logits = matrix(2, columns, 3, 0.3);
      for (const row of [0, 1]) logits[row * columns + 17]! += lead;
      await expectExact(logits, 2, 1, Int32Array.of(17, 17));
      await expectExact(logits, 2, 1, Int32Array.of(17, 5));
    });

    it("takes logits of −∞ for tokens that cannot be", async () => {
      const masked = matrix(2, 300, 3, 2);
      for (let i = 0; i < masked.length; i += 1) if (i % 3 === 1) masked[i] = -Infinity;
      masked[0] = 1;
      masked[300 + (7919 % 300)] = 1;
      await expectExact(masked, 2);
    });

    it("lets rows alone that nothing depends on, whatever stands there, to the bit", async () => {
      const [rows, columns] = [3, 64];
      const used = tf.tensor1d([1, 0, 1]);
      const ids = tf.tensor1d([1, 2, 3], "int32");
      const selected = (out: RowDistributions) =>
        weightedSum(
          Object.fromEntries(
            NAMES.map((name) => [name, tf.where(tf.greater(used, 0), out[name], 0)]),
          ) as unknown as RowDistributions,
        );
      const results: Float32Array[][] = [];
      for (const hidden of [0, NaN, 1e9, -Infinity]) {
        const logits = matrix(rows, columns, 5, 1).fill(hidden, columns, 2 * columns);
        const { value, grad } = tf.valueAndGrad((x) => selected(logProbEntropy(x as tf.Tensor2D, ids)))(
          tf.tensor2d(logits, [rows, columns]),
        );
        results.push(await valuesOf([value, grad]));
      }
      const [[, gradient]] = results as [[Float32Array, Float32Array]];
      expect([...gradient.subarray(columns, 2 * columns)]).toEqual(Array<number>(columns).fill(0));
      expect(gradient.filter((slope) => slope !== 0)).toHaveLength(2 * columns);
      for (const result of results) expect(result).toEqual(results[0]);
    });

    it("equals the composed reference", async () => {
      const inputs = () =>
        [tf.tensor2d(matrix(4, 333, 8, 2), [4, 333]), tf.tensor1d(targetsOf(4, 333), "int32")] as const;
      const got = await valuesOf(listed(logProbEntropy(...inputs(), { temperature: 0.7 })));
      await tf.setBackend("cpu");
      const expected = await valuesOf(listed(composedLogProbEntropy(...inputs(), 0.7)));
      got.forEach((values, k) => expect(relativeError(values, expected[k]!)).toBeLessThan(tolerance));
    });
  });
}
