import { availableParallelism } from "node:os";
import * as tf from "@tensorflow/tfjs";
import { activateBackend, loadPlugins } from "verl";
import { inPython } from "./support/python.mjs";

/** A decoder of 0.8M parameters on 3,072 tokens. backend.py has the same one. */
const [WIDTH, LAYERS, HEADS, BATCH, LENGTH, VOCABULARY] = [128, 4, 4, 64, 48, 64];
const HEAD = WIDTH / HEADS;
/** Two steps of warming for graphs: the first one starts Adam's moments, the second one is like all others. */
const STEPS = { ort: { warm: 2, timed: 12 }, wasm: { warm: 0, timed: 2 } };
const CALLS = 2000;

/** One training step (forward, backward, Adam) and one small call, on each backend and in PyTorch. */
export default async function bench(report) {
  await loadPlugins([]);
  const torch = pytorch();
  const beside = (ms, key) =>
    torch === undefined ? {} : { ratio: torch[key] / ms, versus: `PyTorch eager: ${torch[key].toPrecision(3)} ms` };

  for (const key of ["ort", "wasm"]) {
    await activateBackend(key);
    const step = median(await trainingSteps(STEPS[key]));
    report.row({
      name: `training step, 0.8M parameters, ${BATCH * LENGTH} tokens, ${key}, ${availableParallelism()} cores`,
      value: step,
      unit: "ms",
      ...beside(step, "step"),
    });
    const call = median(smallCalls());
    report.row({ name: `4-64-2 network, one row, ${key}`, value: call, unit: "ms", ...beside(call, "call") });
  }
}

async function trainingSteps({ warm, timed }) {
  const parameters = decoder();
  const optimizer = tf.train.adam(1e-3);
  const ids = tf.randomUniform([BATCH, LENGTH], 0, VOCABULARY, "int32", 7);
  const targets = tf.tidy(() => tf.oneHot(tf.reshape(ids, [-1]), VOCABULARY).cast("float32"));
  const loss = () => tf.neg(tf.mean(tf.sum(tf.mul(tf.logSoftmax(logits(parameters, ids)), targets), -1)));
  const times = [];
  for (let i = 0; i < warm + timed; i++) {
    const start = performance.now();
    const value = optimizer.minimize(loss, true);
    await value.data();
    value.dispose();
    if (i >= warm) times.push(performance.now() - start);
  }
  optimizer.dispose();
  tf.dispose([ids, targets]);
  tf.disposeVariables();
  return times;
}

function decoder() {
  let seed = 1;
  const weight = (...shape) => tf.tidy(() => tf.variable(tf.randomNormal(shape, 0, 0.02, "float32", seed++)));
  const gain = () => tf.tidy(() => tf.variable(tf.ones([WIDTH])));
  const layers = Array.from({ length: LAYERS }, () => ({
    query: weight(WIDTH, WIDTH),
    key: weight(WIDTH, WIDTH),
    value: weight(WIDTH, WIDTH),
    output: weight(WIDTH, WIDTH),
    up: weight(WIDTH, 4 * WIDTH),
    down: weight(4 * WIDTH, WIDTH),
    gains: [gain(), gain()],
  }));
  return { embedding: weight(VOCABULARY, WIDTH), positions: weight(LENGTH, WIDTH), layers };
}

function logits({ embedding, positions, layers }, ids) {
  const norm = (x, gain) => tf.mul(tf.mul(x, tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), 1e-6))), gain);
  const row = tf.range(0, LENGTH);
  const future = tf.mul(tf.cast(tf.greater(tf.expandDims(row, 0), tf.expandDims(row, 1)), "float32"), -1e9);
  const heads = (x) => tf.transpose(tf.reshape(x, [BATCH, LENGTH, HEADS, HEAD]), [0, 2, 1, 3]);

  let x = tf.reshape(tf.add(tf.gather(embedding, ids), positions), [-1, WIDTH]);
  for (const { query, key, value, output, up, down, gains } of layers) {
    const h = norm(x, gains[0]);
    const [q, k, v] = [query, key, value].map((weight) => heads(tf.matMul(h, weight)));
    const weights = tf.softmax(tf.add(tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(HEAD)), future));
    const attended = tf.reshape(tf.transpose(tf.matMul(weights, v), [0, 2, 1, 3]), [-1, WIDTH]);
    x = tf.add(x, tf.matMul(attended, output));
    x = tf.add(x, tf.matMul(tf.relu(tf.matMul(norm(x, gains[1]), up)), down));
  }
  return tf.matMul(x, embedding, false, true);
}

function smallCalls() {
  const [first, bias, second] = tf.tidy(() =>
    [tf.randomNormal([4, 64]), tf.zeros([64]), tf.randomNormal([64, 2])].map((x) => tf.keep(x)),
  );
  const times = Array.from({ length: CALLS }, (_, i) => {
    const start = performance.now();
    tf.tidy(() => tf.matMul(tf.relu(tf.add(tf.matMul(tf.tensor2d([[i, 1, 2, 3]]), first), bias)), second).dataSync());
    return performance.now() - start;
  });
  tf.dispose([first, bias, second]);
  return times;
}

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];

/** Milliseconds of the same in PyTorch, where there is one. */
const pytorch = () => inPython("backend.py", [availableParallelism()]);
