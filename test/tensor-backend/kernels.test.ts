import { afterEach, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { collectWarnings, difference, resultsOn } from "./on-backends.ts";

type Case = () => tf.Tensor | tf.Tensor[];

const A = [[0.5, -1.2, 2.1], [0.3, 1.4, -0.7]]; // prettier-ignore
const B = [[1.5, 0.2, 0.8], [0.9, 1.1, 2.2]]; // prettier-ignore
const f = (values: tf.TensorLike) => tf.tensor(values);
const a = () => f(A);
const b = () => f(B);
const positive = () => tf.add(tf.abs(a()), 0.1);
const unit = () => tf.mul(a(), 0.4);
const ints = () => tf.tensor([[1, -2, 7], [-4, 0, 3]], undefined, "int32"); // prettier-ignore
const bools = () => tf.tensor([[1, 0, 1], [0, 0, 1]], undefined, "bool"); // prettier-ignore
const cube = () => tf.reshape(tf.range(0, 24), [2, 3, 4]);

const ODD = [0, -0, NaN, Infinity, -Infinity, 1, -1, 0.5, 2.5, 1e-8, -1e-8, 30, -30, 1e30];
const odd = () => f(ODD);

const UNARY: Record<string, { of: () => tf.Tensor; op: (x: tf.Tensor) => tf.Tensor }> = {
  abs: { of: a, op: tf.abs },
  absInts: { of: ints, op: tf.abs },
  acos: { of: unit, op: tf.acos },
  acosh: { of: () => tf.add(positive(), 1), op: tf.acosh },
  asin: { of: unit, op: tf.asin },
  asinh: { of: a, op: tf.asinh },
  atan: { of: a, op: tf.atan },
  atanh: { of: unit, op: tf.atanh },
  ceil: { of: a, op: tf.ceil },
  clip: { of: a, op: (x) => tf.clipByValue(x, -0.5, 1) },
  clipInts: { of: ints, op: (x) => tf.clipByValue(x, -1, 2) },
  cos: { of: a, op: tf.cos },
  cosh: { of: a, op: tf.cosh },
  elu: { of: a, op: tf.elu },
  erf: { of: a, op: tf.erf },
  exp: { of: a, op: tf.exp },
  expInts: { of: ints, op: tf.exp },
  expm1: { of: a, op: tf.expm1 },
  floor: { of: a, op: tf.floor },
  isFinite: { of: odd, op: tf.isFinite },
  isInf: { of: odd, op: tf.isInf },
  isNaN: { of: odd, op: tf.isNaN },
  leakyRelu: { of: a, op: (x) => tf.leakyRelu(x, 0.1) },
  log: { of: positive, op: tf.log },
  log1p: { of: positive, op: tf.log1p },
  logicalNot: { of: bools, op: tf.logicalNot },
  logSoftmax: { of: a, op: (x) => tf.logSoftmax(x) },
  neg: { of: a, op: tf.neg },
  negInts: { of: ints, op: tf.neg },
  onesLike: { of: a, op: tf.onesLike },
  prelu: { of: a, op: (x) => tf.prelu(x, f([0.1, 0.2, 0.3])) },
  reciprocal: { of: a, op: tf.reciprocal },
  relu: { of: a, op: tf.relu },
  reluInts: { of: ints, op: tf.relu },
  relu6: { of: () => tf.mul(a(), 5), op: tf.relu6 },
  round: { of: () => f([0.5, 1.5, 2.5, -0.5, -1.5, 0.4]), op: tf.round },
  rsqrt: { of: positive, op: tf.rsqrt },
  selu: { of: a, op: tf.selu },
  sigmoid: { of: a, op: tf.sigmoid },
  sign: { of: a, op: tf.sign },
  sin: { of: a, op: tf.sin },
  sinh: { of: a, op: tf.sinh },
  softmax: { of: a, op: (x) => tf.softmax(x) },
  softplus: { of: a, op: tf.softplus },
  sqrt: { of: positive, op: tf.sqrt },
  square: { of: a, op: tf.square },
  squareInts: { of: ints, op: tf.square },
  step: { of: a, op: (x) => tf.step(x) },
  stepAlpha: { of: a, op: (x) => tf.step(x, 0.3) },
  stepInts: { of: ints, op: (x) => tf.step(x) },
  tan: { of: a, op: tf.tan },
  tanh: { of: a, op: tf.tanh },
  zerosLikeInts: { of: ints, op: tf.zerosLike },
};

const MORE: Record<string, Case> = {
  addMixed: () => tf.add(ints(), a()),
  addN: () => tf.addN([a(), b(), a()]),
  addNInts: () => tf.addN([ints(), ints(), ints()]),
  logicalAnd: () => tf.logicalAnd(bools(), tf.greater(a(), 0)),
  logicalOr: () => tf.logicalOr(bools(), tf.greater(a(), 0)),
  greaterBools: () => tf.greater(bools(), f([[0, 1, 0]]).cast("bool")), // prettier-ignore
  equalBools: () => tf.equal(bools(), tf.logicalNot(bools())),
  floorDivInts: () =>
    tf.floorDiv(
      tf.tensor1d([7, -7, 7, -7, 16777217, -16777217, 5, 0], "int32"),
      tf.tensor1d([2, 2, -2, -2, 1, 3, 0, 0], "int32"),
    ),
  modInts: () =>
    tf.mod(
      tf.tensor1d([7, -7, 7, -7, 16777217, -16777217, 5, 0], "int32"),
      tf.tensor1d([2, 2, -2, -2, 5, 5, 0, 0], "int32"),
    ),
  modFloats: () => tf.mod(f([7, -7, 7, -7, 6, -6, 0.5, 5.5]), f([2, 2, -2, -2, 3, 3, 0.25, -2])),
  floorDivFloats: () => tf.floorDiv(f([7, -7, 7.5, -7.5]), f([2, 2, -2, -2])),
  divInts: () => tf.div(ints(), tf.scalar(2, "int32")),
  powInts: () => tf.pow(ints(), tf.scalar(2, "int32")),
  castToInt: () => tf.cast(f([1.9, -1.9, 0.4]), "int32"),
  castToBool: () => tf.cast(f([0.5, 0, -2]), "bool"),
  castBoolToFloat: () => tf.cast(bools(), "float32"),
  castConstant: () => tf.add(tf.cast(tf.scalar(3, "int32"), "float32"), a()),
  fill: () => tf.fill([2, 3], 2.5),
  linspace: () => tf.linspace(0, 1, 11),
  range: () => tf.range(0, 20, 3, "int32"),

  sum: () => tf.sum(cube()),
  sumAxis: () => tf.sum(cube(), 1),
  sumAxesKept: () => tf.sum(cube(), [0, -1], true),
  sumInts: () => tf.sum(ints(), 0),
  sumBools: () => tf.sum(bools(), -1),
  sumScalar: () => tf.sum(tf.scalar(2)),
  mean: () => tf.mean(cube(), [1, 2]),
  meanInts: () => tf.mean(ints(), 0),
  prod: () => tf.prod(b(), 1),
  max: () => tf.max(cube(), 1),
  maxInts: () => tf.max(ints()),
  min: () => tf.min(cube(), [0, 2]),
  all: () => tf.all(bools(), 1),
  any: () => tf.any(bools(), 0),
  argMax: () => tf.argMax(f([[1, 3, 3], [2, 2, 1]]), -1), // prettier-ignore
  argMinAxis0: () => tf.argMin(a(), 0),
  cumsum: () => tf.cumsum(cube(), 1),
  cumsumReverse: () => tf.cumsum(cube(), 2, true, true),
  logSumExp: () => tf.logSumExp(a(), -1),
  moments: () => Object.values(tf.moments(a(), 0)),
  norm: () => tf.norm(a()),

  matMul: () => tf.matMul(a(), b(), false, true),
  matMulTransposed: () => tf.matMul(a(), b(), true, false),
  matMulBatches: () => tf.matMul(cube(), tf.reshape(tf.range(0, 40), [2, 4, 5])),
  matMulBatchesTransposed: () => tf.matMul(cube(), cube(), false, true),
  matMulBatchesBothTransposed: () => tf.matMul(cube(), tf.reshape(tf.range(0, 30), [2, 5, 3]), true, true),
  matMulBroadcast: () => tf.matMul(tf.reshape(tf.range(0, 48), [2, 2, 3, 4]), tf.reshape(tf.range(0, 8), [1, 1, 4, 2])),
  dot: () => tf.dot(f([1, 2, 3]), b().transpose()),
  fusedMatMul: () =>
    tf.fused.matMul({
      a: a(),
      b: b(),
      transposeB: true,
      bias: f([0.1, -5]),
      activation: "relu",
    }),
  fusedMatMulLinear: () => tf.fused.matMul({ a: a(), b: b(), transposeA: true }),
  einsum: () => tf.einsum("ij,kj->ik", a(), b()),
  outer: () => tf.outerProduct(f([1, 2]) as tf.Tensor1D, f([3, 4, 5]) as tf.Tensor1D),

  reshape: () => tf.reshape(tf.mul(cube(), 2), [6, -1]),
  expandDims: () => tf.expandDims(cube(), -2),
  squeeze: () => tf.squeeze(tf.mul(tf.ones([1, 3, 1]), 2)),
  transpose: () => tf.transpose(cube(), [2, 0, 1]),
  slice: () => tf.slice(cube(), [0, 1, 1], [2, -1, 2]),
  stridedSlice: () => tf.stridedSlice(cube(), [1, 2, 3], [0, 0, 0], [-1, -1, -2], 7, 7),
  reverse: () => tf.reverse(cube(), [0, 2]),
  pad: () => tf.pad(a(), [[1, 0], [2, 1]], 9), // prettier-ignore
  padInts: () => tf.pad(ints(), [[0, 1], [0, 0]]), // prettier-ignore
  concat: () => tf.concat([cube(), tf.neg(cube())], 1),
  concatBools: () => tf.concat([bools(), bools()], 0),
  stack: () => tf.stack([a(), b(), a()], 1),
  unstack: () => tf.unstack(cube(), 1),
  split: () => tf.split(cube(), [1, 3], 2),
  splitEven: () => tf.split(cube(), 3, 1),
  tile: () => tf.tile(a(), [2, 3]),
  broadcastTo: () => tf.broadcastTo(tf.tensor2d([[1], [2]]), [2, 3]),
  broadcastUsed: () => tf.add(tf.broadcastTo(f([1, 2, 3]), [2, 3]), a()),
  broadcastNeeded: () => tf.add(tf.broadcastTo(f([1, 2, 3]), [2, 3]), tf.scalar(1)),

  where: () => tf.where(bools(), a(), b()),
  whereScalar: () => tf.where(tf.greater(a(), 0), a(), tf.scalar(-9)),
  oneHot: () => tf.oneHot(tf.tensor2d([[0, 2], [1, 5]], [2, 2], "int32"), 4), // prettier-ignore
  oneHotValues: () => tf.oneHot(tf.tensor1d([1, 0], "int32"), 3, 0.9, 0.1),
  topk: () => Object.values(tf.topk(f([[1, 9, 3, 4], [8, 2, 7, 6]]), 2)), // prettier-ignore
  topkIndices: () => tf.topk(a(), 3).indices,
  gather: () => tf.gather(cube(), tf.tensor2d([[2, 0], [1, 1]], [2, 2], "int32"), 1), // prettier-ignore
  gatherRows: () => tf.gather(a(), tf.tensor1d([1, 0, 1], "int32")),
  gatherPicks: () => tf.gather(a(), tf.tensor2d([[2], [0]], [2, 1], "int32"), 1, 1), // prettier-ignore
  gatherBatches: () => tf.gather(cube(), tf.tensor2d([[2, 0], [1, 1]], [2, 2], "int32"), 1, 1), // prettier-ignore
  gatherNd: () => tf.gatherND(cube(), tf.tensor2d([[0, 2], [1, 1]], [2, 2], "int32")), // prettier-ignore
  segmentSum: () => tf.unsortedSegmentSum(cube(), tf.tensor1d([3, 3], "int32"), 5),
  scatterNd: () => tf.scatterND(tf.tensor2d([[1, 2], [0, 0], [1, 2]], [3, 2], "int32"), tf.tensor1d([5, 6, 7]), [2, 3]), // prettier-ignore
  scatterNdRows: () => tf.scatterND(tf.tensor2d([[1], [3], [1]], [3, 1], "int32"), tf.tensor2d([[1, 2], [3, 4], [5, 6]]), [4, 2]), // prettier-ignore
  depthToSpaceByHand: () => tf.transpose(tf.reshape(cube(), [2, 3, 2, 2]), [0, 2, 1, 3]),
};

const warnings = collectWarnings();
afterEach(() => expect(warnings).toEqual([]));

const check = (body: Case) => difference(resultsOn("ort", body), resultsOn("cpu", body), 2e-6);

describe("recorded kernels give what tfjs' cpu backend gives", () => {
  it.each(Object.entries(UNARY))("%s", (_, { of, op }) => {
    expect(check(() => op(of()))).toBeUndefined();
    expect(check(() => op(tf.reshape(tf.slice(of(), 0, 1), [-1])))).toBeUndefined();
  });

  it.each(Object.entries(MORE))("%s", (_, body) => {
    expect(check(body)).toBeUndefined();
  });
});

describe("special values", () => {
  const OPS: Record<string, (x: tf.Tensor) => tf.Tensor> = {
    abs: tf.abs, neg: tf.neg, exp: tf.exp, log: tf.log, sqrt: tf.sqrt, rsqrt: tf.rsqrt, square: tf.square, sigmoid: tf.sigmoid, tanh: tf.tanh,
    relu: tf.relu, relu6: tf.relu6, softplus: tf.softplus, floor: tf.floor, ceil: tf.ceil, step: (x) => tf.step(x), log1p: tf.log1p, expm1: tf.expm1,
    reciprocal: tf.reciprocal, clip: (x) => tf.clipByValue(x, -1, 1), addOne: (x) => tf.add(x, 1), timesZero: (x) => tf.mul(x, 0),
    maximum: (x) => tf.maximum(x, 0), minimum: (x) => tf.minimum(x, 0), greater: (x) => tf.greater(x, 0), equalSelf: (x) => tf.equal(x, x),
    notEqualSelf: (x) => tf.notEqual(x, x), elu: tf.elu, where: (x) => tf.where(tf.greater(x, 0), x, tf.zerosLike(x)), sum: (x) => tf.sum(x),
    max: (x) => tf.max(x), min: (x) => tf.min(x), mean: (x) => tf.mean(x), leakyRelu: (x) => tf.leakyRelu(x),
  }; // prettier-ignore

  it.each(Object.entries(OPS))("%s", (_, op) => {
    expect(check(() => op(odd()))).toBeUndefined();
  });
});
