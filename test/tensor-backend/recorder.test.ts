import { describe, expect, it, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { OrtBackend } from "../../plugins/tensor-backend/ort/backend.ts";
import { defineOp, nodeOp } from "../../plugins/tensor-backend/ort/op.ts";
import { GraphCache } from "../../plugins/tensor-backend/ort/graph-cache.ts";
import { periodOf } from "../../plugins/tensor-backend/ort/period.ts";
import { Recorder } from "../../plugins/tensor-backend/ort/recorder.ts";
import { Signature } from "../../plugins/tensor-backend/ort/signature.ts";
import { ort } from "./on-backends.ts";

void tf.setBackend("ort");

const MANY = Array.from({ length: 20 }, (_, i) => i);
const negate = nodeOp("Neg");
const recorderWith = (limits: { sessions?: number; bytes?: number } = {}) =>
  new Recorder(new GraphCache({ sessions: 8, bytes: Infinity, ...limits }, { threads: 1 }));
const kept = (recorder: Recorder, values: number[]) => {
  const leaf = recorder.write(values, [values.length], "float32");
  recorder.retain(leaf);
  return leaf;
};
const negated = (recorder: Recorder, values: number[]) => {
  const node = recorder.record(negate, [kept(recorder, values)], undefined, [values.length], "float32");
  recorder.retain(node);
  return node;
};

describe("laziness", () => {
  it("runs one graph for all that is recorded, and everything alive has its values after it", () => {
    const x = tf.tensor1d(MANY);
    const before = ort.stats.runs;
    const y = tf.add(x, 1);
    const z = tf.mul(y, 2);
    expect(ort.stats.runs).toBe(before);
    z.dataSync();
    y.dataSync();
    expect(ort.stats.runs).toBe(before + 1);
    tf.dispose([x, y, z]);
  });

  it("compiles a structure once, whatever the data", () => {
    const step = (shift: number) =>
      tf.tidy(() => tf.sum(tf.add(tf.tensor1d(MANY), tf.tensor1d(MANY.map((v) => v + shift)))).dataSync()[0]);
    step(0);
    const { compiles } = ort.stats;
    expect([1, 2, 3].map(step)).toEqual([400, 420, 440]);
    expect(ort.stats.compiles).toBe(compiles);
  });

  it("tells apart graphs that differ only in what is alive, in a shape, in a dtype or in an attribute", () => {
    const results = [
      tf.tidy(() => [...tf.neg(tf.tensor1d(MANY)).dataSync()].at(-1)),
      tf.tidy(() => [...tf.neg(tf.tensor2d([MANY])).dataSync()].at(-1)),
      tf.tidy(() => [...tf.neg(tf.tensor1d(MANY, "int32")).dataSync()].at(-1)),
      tf.tidy(() => tf.sum(tf.tensor2d([MANY, MANY]), 0).shape[0]),
      tf.tidy(() => tf.sum(tf.tensor2d([MANY, MANY]), 1).shape[0]),
      tf.tidy(() => tf.clipByValue(tf.tensor1d(MANY), 0.1, 0.7).dataSync().at(-1)),
      tf.tidy(() => tf.clipByValue(tf.tensor1d(MANY), 0.1, 0.9).dataSync().at(-1)),
    ];
    expect(results.map((value) => Math.fround(value!))).toEqual([
      -19,
      -19,
      -19,
      20,
      2,
      Math.fround(0.7),
      Math.fround(0.9),
    ]);
  });

  it("reads in the middle of a gradient", () => {
    let seen = 0;
    const gradient = tf.grad((x) => {
      const y = tf.square(x);
      seen = y.dataSync()[0]!;
      return tf.sum<tf.Scalar>(tf.mul(y, x));
    })(tf.scalar(3));
    expect([seen, gradient.dataSync()[0]]).toEqual([9, 27]);
  });
});

describe("changing scalars", () => {
  it("become inputs: a scalar that differs each time costs one more compilation", () => {
    const step = (rate: number) =>
      tf.tidy(() => tf.mul(tf.tensor1d(MANY.map((v) => v * 2)), tf.scalar(rate)).dataSync()[1]);
    const { compiles } = ort.stats;
    expect([0.5, 0.25, 0.125, 3, -1].map(step)).toEqual([1, 0.5, 0.25, 6, -2]);
    expect(ort.stats.compiles - compiles).toBe(2);
  });

  it("cost three compilations at most, however many there are", () => {
    const step = (i: number) =>
      tf.tidy(() => {
        const scalars = Array.from({ length: 6 }, (_, j) => tf.scalar(i > j ? i : -1));
        return scalars
          .reduce((total: tf.Tensor, scalar) => tf.add(tf.mul(total, 1), scalar), tf.tensor1d([...MANY, 7]))
          .dataSync()[0];
      });
    const { compiles } = ort.stats;
    expect([0, 1, 2, 3, 4, 5].map(step)).toEqual([-6, -4, 0, 6, 14, 24]);
    expect(ort.stats.compiles - compiles).toBe(3);
  });

  it("give the same bits as input and as constant", () => {
    const x = tf.tensor2d(
      Array.from({ length: 400 }, (_, i) => Math.sin(i)),
      [20, 20],
    );
    const step = (scale: number) =>
      tf.tidy(() => [...tf.mul(tf.div(1.7, x), tf.matMul(tf.mul<tf.Tensor2D>(x, scale), x, false, true)).dataSync()]);
    const asConstant = step(0.3);
    step(0.7);
    expect(step(0.3)).toEqual(asConstant);
    x.dispose();
  });

  it("tell NaN and −0 from other constants", () => {
    const step = (value: number) =>
      tf.tidy(() =>
        tf
          .div(tf.tensor1d([...MANY, 1, 1]), tf.scalar(value))
          .dataSync()
          .at(-1),
      );
    expect([NaN, NaN, 0, -0].map(step)).toEqual([NaN, NaN, Infinity, -Infinity]);
  });
});

describe("arrays", () => {
  it.each([[3], [40]])("of %i elements are copied when written", (length) => {
    const values = new Float32Array(length).fill(1);
    const x = tf.tensor1d(values);
    const y = tf.add(x, 1);
    values.fill(100);
    expect([...y.dataSync()]).toEqual(Array.from({ length }, () => 2));
    expect([...x.dataSync()]).toEqual(Array.from({ length }, () => 1));
    tf.dispose([x, y]);
  });

  it("that were read belong to the reader", async () => {
    const x = tf.neg(tf.tensor1d(MANY));
    const first = x.dataSync();
    first.fill(7);
    const second = await x.data();
    for (let i = 0; i < 5; i++) tf.tidy(() => tf.neg(tf.tensor1d(MANY.map((v) => v + i))).dataSync());
    x.dispose();
    expect([...second]).toEqual(MANY.map((v) => -v));
    expect(first.every((value) => value === 7)).toBe(true);
  });

  it("are shared by reshaped tensors, each of which outlives the other", () => {
    const x = tf.tensor1d(MANY);
    const y = tf.reshape(x, [4, 5]);
    x.dispose();
    expect(tf.sum(y).dataSync()[0]).toBe(190);
    y.dispose();
  });
});

describe("disposal", () => {
  it("of a pending value keeps what depends on it right, and of everything runs nothing", () => {
    const x = tf.tensor1d(MANY);
    const y = tf.add(x, 1);
    const z = tf.mul(y, 2);
    y.dispose();
    x.dispose();
    expect(z.dataSync()[1]).toBe(4);
    const { runs } = ort.stats;
    const w = tf.neg(z);
    tf.dispose([z, w]);
    ort.flush();
    expect(ort.stats.runs).toBe(runs);
  });

  it("of clones counts references", () => {
    const x = tf.neg(tf.tensor1d(MANY));
    const y = tf.clone(x);
    x.dispose();
    expect(y.dataSync()[3]).toBe(-3);
    y.dispose();
    expect(() => y.dataSync()).toThrow(/disposed/);
  });

  it("leaves no live value behind", () => {
    const before = ort.stats.liveValues;
    for (let i = 0; i < 10; i++) tf.tidy(() => tf.softmax(tf.topk(tf.tensor2d([MANY]), 4).values).dataSync());
    expect(ort.stats.liveValues).toBe(before);
  });
});

describe("the graph cache", () => {
  it("keeps at most so many sessions, the last used ones", () => {
    const recorder = recorderWith({ sessions: 2 });
    const run = (length: number) =>
      recorder.valuesOf(
        negated(
          recorder,
          Array.from({ length }, () => 1),
        ),
      );
    [10, 11, 10, 12, 10].forEach(run);
    expect(recorder.cache.stats).toMatchObject({ sessions: 2, compiles: 3, hits: 2 });
    run(11);
    expect(recorder.cache.stats).toMatchObject({ sessions: 2, compiles: 4 });
  });

  it("keeps at most so many bytes, but always the graph at hand", () => {
    const recorder = recorderWith({ bytes: 100 });
    const run = (length: number) =>
      recorder.valuesOf(
        negated(
          recorder,
          Array.from({ length }, () => 1),
        ),
      );
    [10, 11].forEach(run);
    expect(recorder.cache.stats).toMatchObject({ sessions: 2, bytes: 84 });
    run(12);
    expect(recorder.cache.stats).toMatchObject({ sessions: 2, bytes: 92 });
    run(1000);
    expect(recorder.cache.stats).toMatchObject({ sessions: 1, bytes: 4000 });
  });

  it("compares structures word for word when their hashes collide", () => {
    const hash = jest.spyOn(Signature.prototype, "hash").mockReturnValue(1);
    try {
      const recorder = recorderWith({ sessions: 2 });
      const run = (length: number) =>
        [
          ...recorder.valuesOf(
            negated(
              recorder,
              Array.from({ length }, (_, i) => i + 1),
            ),
          ),
        ].at(-1);
      expect([10, 11, 12, 11, 10].map(run)).toEqual([-10, -11, -12, -11, -10]);
      expect(recorder.cache.stats).toMatchObject({ sessions: 2, compiles: 4, hits: 1 });
    } finally {
      hash.mockRestore();
    }
  });

  it("gives all sessions back", () => {
    const backend = new OrtBackend({ threads: 1, sessions: 4, sessionBytes: 1e9 });
    backend.recorder.valuesOf(negated(backend.recorder, MANY));
    expect(backend.stats.sessions).toBe(1);
    backend.dispose();
    expect(backend.stats).toMatchObject({ sessions: 0, bytes: 0 });
  });
});

describe("a loop that nobody reads", () => {
  it("is cut at whole iterations, so that its graphs are used again", () => {
    const { compiles, runs } = ort.stats;
    let x: tf.Tensor = tf.tensor1d(MANY);
    const counts: number[] = [];
    for (let i = 0; i < 21_000; i++) {
      const next = tf.tidy(() => tf.neg(tf.mul(tf.add(x, 1), 1)));
      x.dispose();
      x = next;
      counts.push(ort.recorder.pending);
    }
    expect(Math.max(...counts)).toBeLessThanOrEqual(16_384);
    expect(ort.stats.runs - runs).toBe(3);
    expect(ort.stats.compiles - compiles).toBeLessThanOrEqual(2);
    expect(x.dataSync()[3]).toBe(3);
    x.dispose();
  });

  it.each([
    [[9, 1, 2, 3, 1, 2, 3], 3],
    [[1, 2, 3, 4], 0],
    [[5, 5, 5, 5], 1],
    [[1, 1, 2, 1, 1, 2, 1, 1], 3],
    [[], 0],
  ])("the end of %j repeats every %i", (sequence, period) => {
    expect(periodOf(sequence)).toBe(period);
  });
});

describe("failures", () => {
  it("of a graph say which operation, and leave the backend usable", () => {
    const x = tf.tensor1d(MANY);
    const bad = tf.gather(x, tf.tensor1d([99], "int32"));
    expect(() => bad.dataSync()).toThrow(/recorded graph .*Gather/s);
    expect(() => bad.dataSync()).toThrow(/failed before/);
    expect(tf.neg(x).dataSync()[2]).toBe(-2);
  });

  it("of compilation too", () => {
    const recorder = recorderWith();
    const nonsense = defineOp("Nonsense", (graph, inputs, out) => graph.node("NoSuchOp", inputs, out));
    const node = recorder.record(nonsense, [kept(recorder, MANY)], undefined, [20], "float32");
    recorder.retain(node);
    expect(() => recorder.valuesOf(node)).toThrow(/NoSuchOp/);
  });

  it("refuses dtypes that it cannot hold", () => {
    expect(() => tf.tensor1d(["a"])).toThrow(/no dtype "string"/);
  });
});
