import { beforeAll, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import {
  createRng,
  fusedKl,
  gaeTensor,
  groupStatisticsTensor,
  maskedWhiten,
  maskedWhitenTensor,
  registries,
  type FusedKl,
} from "verl";
import { klPenalties } from "../../plugins/kl/index.ts";
import { poison, useWebGpu, valuesOf } from "./on-webgpu.ts";
import { relativeError } from "./relative-error.ts";

beforeAll(useWebGpu);
for (const { key, entry } of klPenalties) registries.kl_penalty.register(key, entry);

const rng = createRng(9);
const normals = (size: number, shift = 0) => Float32Array.from({ length: size }, () => shift + rng.normal());
/** 0/1, and a copy of `values` with NaN where it is 0. */
function masked(values: Float32Array) {
  const mask = values.map(() => Number(rng.uniform() < 0.8));
  return { mask, hidden: values.map((value, i) => (mask[i] === 0 ? NaN : value)) };
}

it.each([
  [3, 7],
  [40, 700],
])("whitens %i × %i numbers as the CPU does, far from 0 too", async (rows, width) => {
  for (const shiftMean of [true, false]) {
    const { mask, hidden } = masked(normals(rows * width, 300));
    await poison(rows * width);
    const matrix = (values: Float32Array) => tf.tensor2d(values, [rows, width]);
    const [got] = await valuesOf([maskedWhitenTensor(matrix(hidden), matrix(mask), { shiftMean })]);
    expect(relativeError(got!, maskedWhiten(hidden, mask, shiftMean))).toBeLessThan(1e-5);
  }
});

it("gives each group's mean, standard deviation and size, and leaves rows of no group out", async () => {
  const [rows, count] = [1000, 37];
  const groups = Int32Array.from({ length: rows }, (_, i) => (i < 2 ? 36 - i : rng.below(36) - 1));
  const values = normals(rows, 100).map((value, i) => (groups[i]! < 0 ? NaN : value));
  await poison(count);
  const run = () => {
    const { mean, std, size } = groupStatisticsTensor(tf.tensor1d(values), tf.tensor1d(groups, "int32"), count);
    return valuesOf([mean, std, size]);
  };
  const [mean, std, size] = await run();
  for (let group = 0; group < count; group += 1) {
    const own = values.filter((_, i) => groups[i] === group);
    const average = own.reduce((sum, value) => sum + value, 0) / Math.max(own.length, 1);
    const squares = own.reduce((sum, value) => sum + (value - average) ** 2, 0);
    expect(size![group]).toBe(own.length);
    expect(Math.abs(mean![group]! - average)).toBeLessThan(1e-3);
    expect(Math.abs(std![group]! - Math.sqrt(squares / Math.max(own.length - 1, 1)))).toBeLessThan(1e-4);
  }
  await tf.setBackend("cpu");
  const composed = await run();
  await tf.setBackend("webgpu");
  [mean, std, size].forEach((values, i) => expect(relativeError(values!, composed[i]!)).toBeLessThan(1e-5));
});

it.each([1, 5, 256, 700])("scans generalized advantages over %i tokens, jumping over masked ones", async (width) => {
  const rows = 3;
  const { mask, hidden: values } = masked(normals(rows * width));
  const rewards = normals(rows * width).map((value, i) => (mask[i] === 0 ? NaN : value));
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
  await poison(rows * width);
  const run = () => {
    const [r, v, m] = [rewards, values, mask].map((data) => tf.tensor2d(data, [rows, width]));
    const { advantages, returns } = gaeTensor(r!, v!, m!, { gamma, lam });
    return valuesOf([advantages, returns]);
  };
  const results = [await run()];
  await tf.setBackend("cpu");
  if (width < 300) results.push(await run());
  await tf.setBackend("webgpu");
  for (const result of results) {
    result.forEach((values, i) => expect(relativeError(values, expected[i]!)).toBeLessThan(1e-5));
  }
});

it.each(["k1", "abs", "k2", "k3"] as const)("has the value and the slope of %s", async (kind: FusedKl) => {
  const [ours, theirs] = [normals(600), normals(600)];
  ours.set([0, 1, 50, -50], 0);
  theirs.set([0, 1, 0, 0], 0);
  const run = async (of: (a: tf.Tensor2D, b: tf.Tensor2D) => tf.Tensor2D) => {
    const [a, b] = [tf.tensor2d(ours, [20, 30]), tf.tensor2d(theirs, [20, 30])];
    return valuesOf([of(a, b), tf.grad((x) => tf.sum(of(x as tf.Tensor2D, b)))(a)]);
  };
  await poison(600);
  const got = await run((a, b) => fusedKl(kind, a, b)!);
  await tf.setBackend("cpu");
  const expected = await run((a, b) => registries.kl_penalty.resolve(kind).compute(a, b));
  await tf.setBackend("webgpu");
  got.forEach((values, i) => expect(relativeError(values, expected[i]!)).toBeLessThan(1e-5));
});
