import { beforeEach, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import {
  createRng,
  fusedKl,
  gaeTensor,
  groupStatisticsTensor,
  linearLogProbEntropy,
  logProbEntropy,
  maskedWhiten,
  maskedWhitenTensor,
  registries,
  type FusedKl,
} from "verl";
import { klPenalties } from "../../plugins/kl/index.ts";
import type { Kernel } from "./kernel.ts";
import { relativeError } from "./relative-error.ts";
import { valuesOf } from "./values-of.ts";

for (const { key, entry } of klPenalties) registries.kl_penalty.register(key, entry);

const rng = createRng(9);
const normals = (size: number, shift = 0) => Float32Array.from({ length: size }, () => shift + rng.normal());
const maskOf = (size: number) => Float32Array.from({ length: size }, () => Number(rng.uniform() < 0.8));
/** A copy of `values` with `what` where the mask is 0. */
const hiding = (values: Float32Array, mask: Float32Array, what: number) =>
  values.map((value, i) => (mask[i] === 0 ? what : value));
/** What must not matter behind a mask. */
const ANYTHING = [NaN, 1e9, -Infinity, 0];

/** Defines the tests that whitening, group statistics, GAE and KL pass on each backend, by a kernel or composed. */
export function testBatchKernels({ backend, tolerance, poison }: Kernel): void {
  beforeEach(async () => {
    await tf.setBackend(backend);
  });

  function expectSameBits(results: readonly (readonly Float32Array[])[]): void {
    for (const result of results) expect(result).toEqual(results[0]);
  }

  it("refuses inputs that do not fit together", () => {
    const [a, b] = [tf.zeros<tf.Rank.R2>([2, 3]), tf.zeros<tf.Rank.R2>([2, 2])];
    const [two, three] = [tf.zeros<tf.Rank.R1>([2], "int32"), tf.zeros<tf.Rank.R1>([3], "int32")];
    const works = [
      () => maskedWhitenTensor(a, b),
      () => gaeTensor(a, a, b, { gamma: 1, lam: 1 }),
      () => gaeTensor(a, b, a, { gamma: 1, lam: 1 }),
      () => fusedKl("k1", a, b),
      () => groupStatisticsTensor(tf.zeros([3]), two, 2),
      () => logProbEntropy(a, three),
      () => linearLogProbEntropy(a, b, two, ["entropy"], { temperature: 1 }),
      () => linearLogProbEntropy(a, a, three, ["entropy"], { temperature: 1 }),
    ];
    for (const work of works) {
      expect(work).toThrow(expect.objectContaining({ code: "VERL_TENSOR_SHAPE" }));
    }
  });

  describe("masked_whiten", () => {
    it.each([
      [3, 7, 300],
      [40, 700, 300],
      [40, 700, 1e5],
      [5, 9, 0],
    ])("equals float64 for %i × %i numbers around %i, whatever is masked", async (rows, width, around) => {
      for (const shiftMean of [true, false]) {
        const [mask, values] = [maskOf(rows * width), normals(rows * width, around)];
        const matrix = (data: Float32Array) => tf.tensor2d(data, [rows, width]);
        const results: Float32Array[][] = [];
        for (const what of ANYTHING) {
          await poison?.(rows * width);
          const whitened = maskedWhitenTensor(matrix(hiding(values, mask, what)), matrix(mask), { shiftMean });
          results.push(await valuesOf([whitened]));
        }
        expectSameBits(results);
        const off = relativeError(results[0]![0]!, maskedWhiten(values, mask, shiftMean));
        expect(off).toBeLessThan(tolerance);
      }
    });

    it("gives 0 where all is masked, or all is one number", async () => {
      const whiten = (values: number[], mask: number[]) => maskedWhitenTensor(tf.tensor1d(values), tf.tensor1d(mask));
      const [none, one] = await valuesOf([whiten([NaN, 1, 2], [0, 0, 0]), whiten([7, NaN, 9], [1, 0, 0])]);
      expect([...none!, ...one!]).toEqual([0, 0, 0, 0, 0, 0]);
    });
  });

  describe("group statistics", () => {
    it.each([100, 1e5])("equal float64 around %i, whatever stands in rows of no group", async (around) => {
      const [rows, count] = [1000, 37];
      const groups = Int32Array.from({ length: rows }, (_, i) => (i < 2 ? 36 - i : rng.below(36) - 1));
      const values = normals(rows, around);
      const results: Float32Array[][] = [];
      for (const what of ANYTHING) {
        await poison?.(count);
        const given = values.map((value, i) => (groups[i]! < 0 ? what : value));
        const { mean, std, size } = groupStatisticsTensor(tf.tensor1d(given), tf.tensor1d(groups, "int32"), count);
        results.push(await valuesOf([mean, std, size]));
      }
      expectSameBits(results);
      const expected = [0, 1, 2].map(() => new Float64Array(count));
      for (let group = 0; group < count; group += 1) {
        const own = Array.from(values.filter((_, i) => groups[i] === group));
        const average = own.reduce((sum, value) => sum + value, 0) / Math.max(own.length, 1);
        const squares = own.reduce((sum, value) => sum + (value - average) ** 2, 0);
        expected[0]![group] = average;
        expected[1]![group] = Math.sqrt(squares / Math.max(own.length - 1, 1));
        expected[2]![group] = own.length;
      }
      expect([...results[0]![2]!]).toEqual([...expected[2]!]);
      expected.forEach((exact, i) => expect(relativeError(results[0]![i]!, exact)).toBeLessThan(tolerance));
    });

    it("are 0 for groups without rows", async () => {
      const { mean, std, size } = groupStatisticsTensor(tf.tensor1d([3, 5]), tf.tensor1d([2, 2], "int32"), 4);
      const [means, deviations, sizes] = await valuesOf([mean, std, size]);
      expect([...means!]).toEqual([0, 0, 4, 0]);
      expect([...deviations!]).toEqual([0, 0, Math.fround(Math.SQRT2), 0]);
      expect([...sizes!]).toEqual([0, 0, 2, 0]);
    });
  });

  describe("gae", () => {
    it.each([1, 5, 256, 700])("over %i tokens equals float64, jumping over masked ones", async (width) => {
      const rows = 3;
      const mask = maskOf(rows * width);
      const [rewards, values] = [normals(rows * width), normals(rows * width)];
      const [gamma, lam] = [0.97, 0.9];
      const expected = [new Float64Array(rows * width), new Float64Array(rows * width)] as const;
      for (let row = 0; row < rows; row += 1) {
        let [next, advantage] = [0, 0];
        for (let at = (row + 1) * width - 1; at >= row * width; at -= 1) {
          if (mask[at] === 0) continue;
          advantage = rewards[at]! + gamma * next - values[at]! + gamma * lam * advantage;
          next = values[at]!;
          expected[0][at] = advantage;
          expected[1][at] = advantage + next;
        }
      }
      const results: Float32Array[][] = [];
      for (const what of ANYTHING) {
        await poison?.(rows * width);
        const hidden = [hiding(rewards, mask, what), hiding(values, mask, what), mask];
        const [r, v, m] = hidden.map((data) => tf.tensor2d(data, [rows, width]));
        const { advantages, returns } = gaeTensor(r!, v!, m!, { gamma, lam });
        results.push(await valuesOf([advantages, returns]));
      }
      expectSameBits(results);
      expected.forEach((exact, i) => expect(relativeError(results[0]![i]!, exact)).toBeLessThan(tolerance));
    });
  });

  describe("KL", () => {
    it.each(["k1", "abs", "k2", "k3"] as const)("has the value and the slope of %s", async (kind: FusedKl) => {
      const [ours, theirs] = [normals(600), normals(600)];
      ours.set([0, 1, 50, -50, 2, 1e4], 0);
      theirs.set([0, 1, 0, 0, 2 + 2 ** -10, 0], 0);
      const weights = normals(600);
      const run = async (of: (a: tf.Tensor2D, b: tf.Tensor2D) => tf.Tensor2D) => {
        const [a, b, w] = [ours, theirs, weights].map((data) => tf.tensor2d(data, [20, 30]));
        return valuesOf([of(a!, b!), tf.grad((x) => tf.sum(tf.mul(of(x as tf.Tensor2D, b!), w!)))(a!)]);
      };
      const composed = (a: tf.Tensor2D, b: tf.Tensor2D) => registries.kl_penalty.resolve(kind).compute(a, b);
      await poison?.(600);
      const got = await run((a, b) => fusedKl(kind, a, b) ?? composed(a, b));
      await tf.setBackend("cpu");
      const expected = await run(composed);
      got.forEach((values, i) => expect(relativeError(values, expected[i]!)).toBeLessThan(tolerance));
    });
  });
}

/** Where a backend has kernels for it: digits that the composed form loses, and what stands behind the mask of a loss. */
export function testFusedKl(backend: string): void {
  it("k3 and its slope keep their digits where the policies are close", async () => {
    await tf.setBackend(backend);
    const deltas = Float32Array.from([1e-4, 1e-3, 0.03, 0.3, 0.69, 0.71, 1, 2].flatMap((delta) => [delta, -delta]));
    const [a, b] = [tf.zeros([4, 4]), tf.tensor2d(deltas, [4, 4])] as [tf.Tensor2D, tf.Tensor2D];
    const slope = tf.grad((x) => fusedKl("k3", x as tf.Tensor2D, b)!)(a);
    const [value, gradient] = await valuesOf([fusedKl("k3", a, b)!, slope]);
    deltas.forEach((y, i) => {
      const [rise, penalty] = [Math.expm1(y), Math.expm1(y) - y];
      const exact = Math.abs(y) < 0.01 ? (y * y) / 2 + y ** 3 / 6 + y ** 4 / 24 + y ** 5 / 120 : penalty;
      expect(Math.abs(value![i]! / exact - 1)).toBeLessThan(5e-6);
      expect(Math.abs(gradient![i]! / -rise - 1)).toBeLessThan(5e-6);
    });
  });

  it("takes a batch of no tokens", async () => {
    await tf.setBackend(backend);
    const [a, b] = [tf.zeros([2, 0]), tf.zeros([2, 0])] as [tf.Tensor2D, tf.Tensor2D];
    expect((await fusedKl("k1", a, b)!.data()).length).toBe(0);
    expect((await gaeTensor(a, b, a, { gamma: 1, lam: 1 }).advantages.data()).length).toBe(0);
    expect((await maskedWhitenTensor(a, b).data()).length).toBe(0);
  });

  it.each(["k1", "abs", "k2", "k3"] as const)("%s lets tokens alone that nothing depends on", async (kind: FusedKl) => {
    await tf.setBackend(backend);
    const [ours, theirs, mask] = [normals(60), normals(60), maskOf(60)];
    const results: Float32Array[][] = [];
    for (const what of ANYTHING) {
      const [a, b] = [hiding(ours, mask, what), hiding(theirs, mask, what)].map((data) => tf.tensor2d(data, [6, 10]));
      const on = tf.greater(tf.tensor2d(mask, [6, 10]), 0);
      const { value, grad } = tf.valueAndGrad((x) =>
        tf.sum<tf.Scalar>(tf.where(on, fusedKl(kind, x as tf.Tensor2D, b as tf.Tensor2D)!, 0)),
      )(a!);
      results.push(await valuesOf([value, grad]));
    }
    expect(results[0]![1]!.filter((slope, i) => slope !== 0 && mask[i] === 0)).toHaveLength(0);
    for (const result of results) expect(result).toEqual(results[0]);
  });
}
