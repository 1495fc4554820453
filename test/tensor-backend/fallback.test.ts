import { describe, expect, it, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { difference, ort, resultsOn } from "./on-backends.ts";

void tf.setBackend("ort");

const silently = (body: () => void): string[] => {
  const warn = jest.spyOn(console, "warn").mockImplementation(() => undefined);
  try {
    body();
    return warn.mock.calls.map(([message]) => String(message));
  } finally {
    warn.mockRestore();
  }
};

const image = () => tf.reshape<tf.Rank.R4>(tf.range(0, 32), [1, 4, 4, 2]);
const filter = () => tf.reshape<tf.Rank.R4>(tf.range(0, 36), [3, 3, 2, 2]);

describe("kernels without a lowering", () => {
  it("run on cpu for that node alone, with one warning that names them", () => {
    const before = ort.stats.liveValues;
    const body = () => tf.neg(tf.conv2d(tf.mul(image(), 2), filter(), 1, "same"));
    let outcome: string | undefined = "not run";
    const warnings = silently(() => {
      outcome = difference(resultsOn("ort", body), resultsOn("cpu", body), 1e-6);
      resultsOn("ort", body);
    });
    expect(outcome).toBeUndefined();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/kernel Conv2D .*"cpu"/);
    expect(ort.stats.liveValues).toBe(before);
  });

  it("have gradients as everything else", () => {
    const body = () =>
      tf.grad((x) => tf.sum<tf.Scalar>(tf.square(tf.maxPool(x as tf.Tensor4D, 2, 2, "same"))))(image());
    let outcome: string | undefined = "not run";
    silently(() => (outcome = difference(resultsOn("ort", body), resultsOn("cpu", body), 1e-6)));
    expect(outcome).toBeUndefined();
  });

  it("with several outputs give them all", () => {
    const body = () => {
      const { values, indices } = tf.unique(tf.tensor1d([3, 1, 3, 2, 1], "int32"));
      return [values, indices];
    };
    let outcome: string | undefined = "not run";
    silently(() => (outcome = difference(resultsOn("ort", body), resultsOn("cpu", body), 0)));
    expect(outcome).toBeUndefined();
  });

  it("that read no tensor need no warning", () => {
    expect(silently(() => tf.tidy(() => tf.range(0, 5).dataSync()))).toEqual([]);
  });
});

describe("tensors without elements", () => {
  const EMPTY: Record<string, () => tf.Tensor | tf.Tensor[]> = {
    add: () => tf.add(tf.zeros([0, 3]), tf.zeros([1, 3])),
    neg: () => tf.neg(tf.zeros([2, 0])),
    sum: () => tf.sum(tf.zeros([0, 3]), 0),
    sumAll: () => tf.sum(tf.zeros([0])),
    mean: () => tf.mean(tf.zeros([3, 0]), 0),
    matMul: () => tf.matMul(tf.zeros([2, 0]), tf.zeros([0, 3])),
    matMulRows: () => tf.matMul(tf.zeros([0, 4]), tf.zeros([4, 3])),
    concat: () => tf.concat([tf.zeros([0, 3]), tf.ones([2, 3]), tf.zeros([0, 3])], 0),
    slice: () => tf.slice(tf.neg(tf.ones([4, 3])), [1, 0], [0, 3]),
    reshape: () => tf.reshape(tf.zeros([0, 3]), [3, 0]),
    transpose: () => tf.transpose(tf.zeros([0, 3])),
    gather: () => tf.gather(tf.neg(tf.ones([4, 3])), tf.tensor1d([], "int32")),
    greater: () => tf.greater(tf.zeros([0]), tf.scalar(1)),
    cast: () => tf.cast(tf.zeros([0]), "int32"),
    pad: () => tf.pad(tf.zeros([0, 1]), [[1, 0], [0, 1]]), // prettier-ignore
  };
  it.each(Object.entries(EMPTY))("%s", (_, body) => {
    const warnings = silently(() => {
      expect(difference(resultsOn("ort", body), resultsOn("cpu", body), 0)).toBeUndefined();
    });
    expect(warnings).toEqual([]);
  });
});

describe("tensors of another backend", () => {
  it("move here and back", () => {
    void tf.setBackend("cpu");
    const x = tf.tensor2d([[1, 2], [3, 4]]); // prettier-ignore
    const flat = tf.reshape(x, [4]);
    void tf.setBackend("ort");
    expect([...tf.add(flat, 1).dataSync()]).toEqual([2, 3, 4, 5]);
    expect([...tf.matMul(x, x).dataSync()]).toEqual([7, 10, 15, 22]);
    const y = tf.mul(x, 2);
    void tf.setBackend("cpu");
    expect([...tf.add(y, x).dataSync()]).toEqual([3, 6, 9, 12]);
    void tf.setBackend("ort");
    expect([...tf.sub(y, x).dataSync()]).toEqual([1, 2, 3, 4]);
  });
});
