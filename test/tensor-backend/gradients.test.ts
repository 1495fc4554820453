import { afterEach, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { collectWarnings, difference, on, type Result, resultsOn } from "./on-backends.ts";

const A = [[0.5, -1.2, 2.1], [0.3, 1.4, -0.7]]; // prettier-ignore
const B = [[1.5, 0.2, 0.8], [0.9, 1.1, 2.2]]; // prettier-ignore
const POSITIVE = [[0.6, 1.3, 2.2], [0.4, 1.5, 0.8]]; // prettier-ignore
const CUBE = Array.from({ length: 24 }, (_, i) => Math.sin(i + 1));

type Function = (x: tf.Tensor) => tf.Tensor;
interface Case {
  at: tf.TensorLike;
  of: Function;
}
const b = () => tf.tensor(B);
const ids = (values: number[]) => tf.tensor1d(values, "int32");
const grid = (values: number[][]) => tf.tensor2d(values, undefined, "int32");
const cube = (x: tf.Tensor) => tf.reshape(x, [2, 3, 4]);

/** Functions whose gradient tfjs has, near points where they are smooth. */
const CASES: Record<string, Case> = {
  abs: { at: A, of: tf.abs },
  acos: { at: [0.3, -0.5], of: tf.acos },
  add: { at: A, of: (x) => tf.add(x, [1, 2, 3]) },
  addBroadcast: { at: [1, 2, 3], of: (x) => tf.mul(tf.add(b(), x), b()) },
  atan: { at: A, of: tf.atan },
  broadcastTo: { at: [[1], [2]], of: (x) => tf.mul(tf.broadcastTo(x, [2, 3]), b()) }, // prettier-ignore
  cacheless: { at: A, of: (x) => tf.concat([tf.square(x), x], 0) },
  clip: { at: A, of: (x) => tf.clipByValue(x, -0.6, 1) },
  cos: { at: A, of: tf.cos },
  cumsum: { at: A, of: (x) => tf.mul(tf.cumsum(x, 1), b()) },
  div: { at: POSITIVE, of: (x) => tf.div(b(), x) },
  elu: { at: A, of: tf.elu },
  exp: { at: A, of: tf.exp },
  expm1: { at: A, of: tf.expm1 },
  gatherRows: { at: A, of: (x) => tf.mul(tf.gather(x, ids([1, 0, 1, 1])), [1, 2, 3]) },
  gatherColumns: { at: A, of: (x) => tf.square(tf.gather(x, ids([2, 0, 2]), 1)) },
  gatherManyRows: { at: A, of: (x) => tf.square(tf.gather(tf.tile(x, [200, 1]), ids([1, 0, 399, 1]))) },
  gatherMatrix: { at: CUBE, of: (x) => tf.square(tf.gather(cube(x), grid([[2, 0], [1, 1]]), 1)) }, // prettier-ignore
  gatherPicks: { at: A, of: (x) => tf.square(tf.gather(x, grid([[2], [0]]), 1, 1)) }, // prettier-ignore
  gatherBatches: { at: CUBE, of: (x) => tf.square(tf.gather(cube(x), grid([[2, 0], [1, 1]]), 1, 1)) }, // prettier-ignore
  leakyRelu: { at: A, of: (x) => tf.leakyRelu(x, 0.1) },
  log: { at: POSITIVE, of: tf.log },
  log1p: { at: POSITIVE, of: tf.log1p },
  logSoftmax: { at: A, of: (x) => tf.mul(tf.logSoftmax(x), b()) },
  logSumExp: { at: A, of: (x) => tf.logSumExp(x, -1) },
  matMulLeft: { at: A, of: (x) => tf.square(tf.matMul(x as tf.Tensor2D, b() as tf.Tensor2D, false, true)) },
  matMulRight: { at: A, of: (x) => tf.square(tf.matMul(b() as tf.Tensor2D, x as tf.Tensor2D, true, false)) },
  matMulBatches: { at: CUBE, of: (x) => tf.matMul(cube(x), cube(x), false, true) },
  max: { at: A, of: (x) => tf.max(x, 1) },
  maximum: { at: A, of: (x) => tf.maximum(x, b()) },
  mean: { at: A, of: (x) => tf.square(tf.mean(x)) },
  meanAxis: { at: CUBE, of: (x) => tf.square(tf.mean(cube(x), [0, 2])) },
  min: { at: A, of: (x) => tf.min(x, 0) },
  mul: { at: A, of: (x) => tf.mul(x, x) },
  pad: { at: A, of: (x) => tf.square(tf.pad(x, [[1, 0], [0, 2]])) }, // prettier-ignore
  pow: { at: POSITIVE, of: (x) => tf.pow(x, 3) },
  prelu: { at: A, of: (x) => tf.prelu(x, [0.1, 0.2, 0.3]) },
  reciprocal: { at: POSITIVE, of: tf.reciprocal },
  relu: { at: A, of: tf.relu },
  reverse: { at: A, of: (x) => tf.mul(tf.reverse(x, 1), b()) },
  rmsNorm: { at: A, of: (x) => tf.mul(x, tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), 1e-6))) },
  rsqrt: { at: POSITIVE, of: tf.rsqrt },
  selu: { at: A, of: tf.selu },
  sigmoid: { at: A, of: tf.sigmoid },
  sin: { at: A, of: tf.sin },
  slice: { at: A, of: (x) => tf.square(tf.slice(x, [0, 1], [2, 2])) },
  softmax: { at: A, of: (x) => tf.mul(tf.softmax(x), b()) },
  softplus: { at: A, of: tf.softplus },
  split: { at: CUBE, of: (x) => tf.mul(...(tf.split(cube(x), 2, 2) as [tf.Tensor, tf.Tensor])) },
  sqrt: { at: POSITIVE, of: tf.sqrt },
  square: { at: A, of: tf.square },
  squaredDifference: { at: A, of: (x) => tf.squaredDifference(x, b()) },
  stack: { at: A, of: (x) => tf.square(tf.stack([x, tf.neg(x)], 1)) },
  sub: { at: A, of: (x) => tf.square(tf.sub(b(), x)) },
  sum: { at: A, of: (x) => tf.square(tf.sum(x)) },
  sumAxes: { at: CUBE, of: (x) => tf.square(tf.sum(cube(x), [-1, 0])) },
  sumKept: { at: CUBE, of: (x) => tf.square(tf.sum(cube(x), 1, true)) },
  tanh: { at: A, of: tf.tanh },
  tile: { at: A, of: (x) => tf.mul(tf.tile(x, [2, 3]), tf.reshape(tf.range(0, 36), [4, 9])) },
  transpose: { at: CUBE, of: (x) => tf.mul(tf.transpose(cube(x), [2, 0, 1]), tf.reshape(tf.range(0, 24), [4, 2, 3])) },
  unstack: { at: A, of: (x) => tf.mul(...(tf.unstack(x) as [tf.Tensor, tf.Tensor])) },
  where: { at: A, of: (x) => tf.where(tf.greater(b(), 1), tf.square(x), tf.exp(x)) },
};

const weighted = (of: Function) => (x: tf.Tensor) => {
  const y = of(x);
  const weights = tf.add(tf.cos(tf.range(0, y.size)), 1.5);
  return tf.sum<tf.Scalar>(tf.mul(y, tf.reshape(weights, y.shape)));
};

/** Central differences on `cpu`, element by element. The step balances rounding against curvature in float32. */
function finiteDifferences(of: Function, at: tf.TensorLike): number[] {
  const STEP = 4e-3;
  return on("cpu", () => {
    const point = tf.tensor(at);
    const values = [...point.dataSync()];
    return values.map((_, i) => {
      const shifted = (step: number) => {
        const moved = values.with(i, values[i]! + step);
        return weighted(of)(tf.tensor(moved, point.shape)).dataSync()[0]!;
      };
      return (shifted(STEP) - shifted(-STEP)) / (2 * STEP);
    });
  });
}

const warnings = collectWarnings();
afterEach(() => expect(warnings).toEqual([]));

describe("gradients", () => {
  it.each(Object.entries(CASES))("%s", (_, { at, of }) => {
    const gradient = () => tf.grad(weighted(of))(tf.tensor(at));
    const here = resultsOn("ort", gradient);
    expect(difference(here, resultsOn("cpu", gradient), 1e-5)).toBeUndefined();
    const [{ values }] = here as [Result];
    finiteDifferences(of, at).forEach((slope, i) => {
      expect(Math.abs(values[i]! - slope)).toBeLessThan(5e-3 * Math.max(1, Math.abs(slope)));
    });
  });

  it("of a gather counts repeated rows exactly", () => {
    const counts = (rows: number) =>
      resultsOn("ort", () =>
        tf.grad((x) => tf.sum<tf.Scalar>(tf.gather(x, ids([1, 3, 1, 1, 0]))))(tf.zeros([rows, 2])),
      )[0]!.values;
    expect(counts(4)).toEqual([1, 1, 3, 3, 0, 0, 1, 1]);
    expect(counts(1000).slice(0, 8)).toEqual([1, 1, 3, 3, 0, 0, 1, 1]);
  });
});
