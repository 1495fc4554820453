import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { ort } from "./on-backends.ts";

const VOCABULARY = 11;
const WIDTH = 8;
const LENGTH = 6;
const BATCH = 5;

/** One attention block over token embeddings, with the operations of a decoder. */
function model(seed: number) {
  const weight = (shape: number[], i: number) =>
    tf.tidy(() => tf.variable(tf.randomNormal(shape, 0, 0.3, "float32", seed + i)));
  const embedding = weight([VOCABULARY, WIDTH], 1);
  const [query, key, value, output] = [2, 3, 4, 5].map((i) => weight([WIDTH, WIDTH], i)) as [
    tf.Variable,
    tf.Variable,
    tf.Variable,
    tf.Variable,
  ];
  const up = weight([WIDTH, 2 * WIDTH], 6);
  const down = weight([2 * WIDTH, WIDTH], 7);
  const gain = tf.tidy(() => tf.variable(tf.ones([WIDTH])));
  const norm = (x: tf.Tensor) => tf.mul(tf.mul(x, tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), 1e-6))), gain);
  const linear = (x: tf.Tensor, w: tf.Tensor) =>
    tf.reshape(tf.matMul(tf.reshape(x, [-1, w.shape[0]]), w as tf.Tensor2D), [...x.shape.slice(0, -1), w.shape[1]!]);

  const loss = (ids: tf.Tensor, targets: tf.Tensor): tf.Scalar => {
    const position = tf.range(0, LENGTH);
    const future = tf.mul(tf.cast(tf.greater(tf.expandDims(position, 0), tf.expandDims(position, 1)), "float32"), -1e9);
    let x = tf.gather(embedding, tf.cast(ids, "int32"));
    const h = norm(x);
    const scores = tf.add(
      tf.mul(tf.matMul(linear(h, query), linear(h, key), false, true), 1 / Math.sqrt(WIDTH)),
      future,
    );
    x = tf.add(x, linear(tf.matMul(tf.softmax(scores), linear(h, value)), output));
    const gate = linear(norm(x), up);
    x = tf.add(x, linear(tf.mul(gate, tf.sigmoid(gate)), down));
    const logProbs = tf.logSoftmax(
      tf.matMul(x, tf.broadcastTo(tf.expandDims(embedding, 0), [BATCH, VOCABULARY, WIDTH]), false, true),
    );
    const flat = tf.reshape(logProbs, [BATCH * LENGTH, VOCABULARY]);
    return tf.neg(tf.mean(tf.gather(flat, tf.cast(tf.reshape(targets, [-1, 1]), "int32"), 1, 1)));
  };
  return { loss, variables: [embedding, query, key, value, output, up, down, gain] };
}

interface Run {
  losses: number[];
  weights: number[][];
}

/** Adam over `steps` batches; `each` sees every step. */
function train(backend: "ort" | "cpu", steps: number, each: (step: number) => void = () => undefined): Run {
  void tf.setBackend(backend);
  const { loss, variables } = model(42);
  const optimizer = tf.train.adam(0.02);
  const losses: number[] = [];
  for (let step = 0; step < steps; step++) {
    const token = (i: number) => (i * i + 3 * step) % VOCABULARY; // The next token is this one plus one.
    tf.tidy(() => {
      const ids = tf.tensor2d(
        Array.from({ length: BATCH * LENGTH }, (_, i) => token(i)),
        [BATCH, LENGTH],
        "int32",
      );
      const targets = tf.tensor2d(
        Array.from({ length: BATCH * LENGTH }, (_, i) => (token(i) + 1) % VOCABULARY),
        [BATCH, LENGTH],
        "int32",
      );
      losses.push(optimizer.minimize(() => loss(ids, targets), true, variables)!.dataSync()[0]!);
    });
    each(step);
  }
  const weights = variables.map((variable) => [...variable.dataSync()]);
  tf.dispose(variables);
  optimizer.dispose();
  void tf.setBackend("ort");
  return { losses, weights };
}

describe("a training loop", () => {
  it("of 50 steps goes as on the cpu backend, within 1e-5", () => {
    const here = train("ort", 50);
    const there = train("cpu", 50);
    expect(here.losses.at(-1)!).toBeLessThan(0.5 * here.losses[0]!);
    const apart = here.losses.map((loss, i) => Math.abs(loss - there.losses[i]!));
    expect(Math.max(...apart)).toBeLessThan(1e-5);
  });

  it("gives the same bits each time", () => {
    expect(train("ort", 12)).toEqual(train("ort", 12));
  });

  it("holds what it holds: values, graphs and bytes stay the same", () => {
    const seen: string[] = [];
    train("ort", 40, (step) => {
      if (step < 5) return;
      const { liveValues, sessions, bytes, compiles } = ort.stats;
      seen.push(JSON.stringify({ liveValues, sessions, bytes, compiles, tensors: tf.memory().numTensors }));
    });
    expect(new Set(seen).size).toBe(1);
  });
});
