import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import fc from "fast-check";
import { difference, resultsOn } from "./on-backends.ts";

type Binary = (a: tf.Tensor, b: tf.Tensor) => tf.Tensor;

const FLOATS: Record<string, Binary> = {
  add: tf.add, sub: tf.sub, mul: tf.mul, div: tf.div, maximum: tf.maximum, minimum: tf.minimum, squaredDifference: tf.squaredDifference,
  mod: tf.mod, floorDiv: tf.floorDiv, greater: tf.greater, greaterEqual: tf.greaterEqual, less: tf.less, lessEqual: tf.lessEqual,
  equal: tf.equal, notEqual: tf.notEqual,
}; // prettier-ignore
const { div: _, ...INTEGERS } = FLOATS;
const BOOLS: Record<string, Binary> = {
  logicalAnd: tf.logicalAnd,
  logicalOr: tf.logicalOr,
  equal: tf.equal,
  notEqual: tf.notEqual,
  less: tf.less,
};

/** Shapes of two operands: one shape, some of its dimensions 1 or, at the front, missing. */
const shapes = fc
  .array(fc.record({ dim: fc.integer({ min: 1, max: 3 }), a: fc.boolean(), b: fc.boolean() }), { maxLength: 4 })
  .chain((dims) =>
    fc.record({
      dims: fc.constant(dims),
      cutA: fc.integer({ min: 0, max: dims.length }),
      cutB: fc.integer({ min: 0, max: dims.length }),
    }),
  )
  .map(({ dims, cutA, cutB }) => ({
    a: dims.slice(cutB === 0 ? cutA : 0).map(({ dim, a }) => (a ? 1 : dim)),
    b: dims.slice(cutB).map(({ dim, b }) => (b ? 1 : dim)),
  }));

const eighths = fc.integer({ min: -80, max: 80 }).map((value) => value / 8);
const integers = fc.integer({ min: -50, max: 50 });
const bits = fc.integer({ min: 0, max: 1 });

function agrees(ops: Record<string, Binary>, dtype: "float32" | "int32" | "bool", values: fc.Arbitrary<number>) {
  fc.assert(
    fc.property(
      shapes,
      fc.constantFrom(...Object.keys(ops)),
      fc.array(values, { minLength: 81, maxLength: 81 }),
      (shape, name, pool) => {
        // `tensor` copies a stretch of the pool; the second operand starts elsewhere.
        const tensor = (dims: number[], start: number) => {
          const size = tf.util.sizeFromShape(dims);
          return tf.tensor(
            Array.from({ length: size }, (_, i) => pool[(start + i) % pool.length]!),
            dims,
            dtype,
          );
        };
        const body = () => ops[name]!(tensor(shape.a, 0), tensor(shape.b, 40));
        // JavaScript divides by zero to NaN, C++ to what the hardware gives; both are nothing to rely on.
        if (dtype === "float32" && ["mod", "floorDiv"].includes(name)) fc.pre(!pool.includes(0));
        expect(difference(resultsOn("ort", body), resultsOn("cpu", body), 1e-6)).toBeUndefined();
      },
    ),
    { numRuns: 60, seed: 7 },
  );
}

describe("binary kernels broadcast as tfjs does", () => {
  it("on floats", () => agrees(FLOATS, "float32", eighths));
  it("on integers, floorDiv and mod exactly, by zero too", () => agrees(INTEGERS, "int32", integers));
  it("on truth values", () => agrees(BOOLS, "bool", bits));
});

describe("reductions, whatever the axes", () => {
  it("agree", () => {
    const OPS = { sum: tf.sum, mean: tf.mean, max: tf.max, min: tf.min, prod: tf.prod };
    fc.assert(
      fc.property(
        fc
          .array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 })
          .chain((shape) => fc.tuple(fc.constant(shape), fc.subarray(shape.map((_, i) => i)))),
        fc.constantFrom(...(Object.keys(OPS) as (keyof typeof OPS)[])),
        fc.boolean(),
        ([shape, axes], name, keepDims) => {
          const body = () => {
            const size = tf.util.sizeFromShape(shape);
            const x = tf.reshape(tf.sin(tf.range(1, size + 1)), shape);
            return (OPS[name] as (x: tf.Tensor, axis: number[], keepDims: boolean) => tf.Tensor)(x, axes, keepDims);
          };
          expect(difference(resultsOn("ort", body), resultsOn("cpu", body), 2e-6)).toBeUndefined();
        },
      ),
      { numRuns: 60, seed: 7 },
    );
  });
});
