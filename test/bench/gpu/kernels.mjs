import * as tf from "@tensorflow/tfjs";
import {
  activateBackend,
  callKernel,
  createAggregate,
  linearLogProbEntropy,
  LOG_PROB_ENTROPY_GRADIENT,
  loadPlugins,
  logProbEntropy,
  registries,
} from "verl";
import { measureEngine } from "../engine.mjs";
import { lossConfig } from "../support/algorithms.mjs";
import { copied, deviceMs, gpu, random } from "./device.mjs";

export const LOSSES = ["cispo", "clip_cov", "geo_mean", "gpg", "gspo", "kl_cov", "reinforce", "sapo", "vanilla"];

/** Milliseconds on the device, by the names of torch_side.py, and bytes moved. */
export async function measureKernels(sizes) {
  await loadPlugins([]);
  await activateBackend("webgpu");
  const results = {};
  const engine = async () => {
    const { sample, update } = await measureEngine("webgpu", sizes.engineRepeats);
    return { quickstart_sample: 1000 * sample, quickstart_update: 1000 * update };
  };
  for (const measure of [measureLinear, measureRows, measureLosses, engine]) {
    try {
      Object.assign(results, await measure(sizes));
    } catch (error) {
      // A part that fails leaves its cells empty, and the others stand.
      console.error(error);
    }
  }
  return results;
}

async function measureRows({ rows, vocabulary, timing }) {
  const results = {};
  const logits = random([rows, vocabulary], { scale: 2 });
  results.copy_bytes = 8 * rows * vocabulary;
  results.copy = await deviceMs(() => copied(logits), timing);
  const ids = Int32Array.from({ length: rows }, (_, i) => (i * 7919) % vocabulary);
  const targets = tf.tensor1d(ids, "int32");
  results.lpe_forward_bytes = 4 * rows * vocabulary;
  results.lpe_forward = await deviceMs(() => logProbEntropy(logits, targets), timing);

  const outputs = logProbEntropy(logits, targets);
  results.lpe_error = await errorAgainstFloat64(logits, ids, outputs);
  const { entropy, sum_pi_squared: sumPiSquared } = outputs;
  const normaliser = tf.tidy(() => tf.stack([outputs.log_sum_exp, tf.zeros([rows])], 1));
  const [dLogProb, dEntropy] = [random([rows], { seed: 2 }), random([rows], { seed: 3 })];
  const zeros = tf.zeros([rows]);
  const backward = (of, columns, half) =>
    callKernel(
      LOG_PROB_ENTROPY_GRADIENT,
      {
        logits: of,
        targets,
        entropy,
        normaliser,
        sumPiSquared,
        dLogProb,
        dEntropy,
        dLogSumExp: zeros,
        dSumPiSquared: zeros,
      },
      { temperature: 1, columns, half },
    );
  results.lpe_backward_bytes = 8 * rows * vocabulary;
  results.lpe_backward = await deviceMs(() => backward(logits, vocabulary, false), timing);

  // Two small float16 an int32, as bits: 1.0 is 0x3c00.
  const halves = tf.add(
    tf.cast(tf.mul(random([rows, vocabulary / 2], { uniform: true, seed: 4 }), 1000), "int32"),
    tf.scalar(0x3c003800, "int32"),
  );
  results.lpe_half_forward_bytes = 2 * rows * vocabulary;
  results.lpe_half_forward = await deviceMs(() => logProbEntropy({ halves, columns: vocabulary }, targets), timing);
  results.lpe_half_backward_bytes = 4 * rows * vocabulary;
  results.lpe_half_backward = await deviceMs(() => backward(halves, vocabulary, true), timing);
  tf.dispose([logits, targets, outputs, normaliser, dLogProb, dEntropy, zeros, halves]);
  return results;
}

/** Largest relative error of log-prob, entropy and log-sum-exp over a few rows. */
async function errorAgainstFloat64(logits, ids, { log_probs, entropy, log_sum_exp }) {
  const rows = [0, 1, logits.shape[0] >> 1, logits.shape[0] - 1];
  const got = await Promise.all([log_probs, entropy, log_sum_exp].map((tensor) => tensor.data()));
  let worst = 0;
  for (const row of rows) {
    const z = await tf.tidy(() => tf.slice(logits, [row, 0], [1, -1])).data();
    const top = z.reduce((a, b) => Math.max(a, b), -Infinity);
    let [mass, weighted] = [0, 0];
    for (const value of z) {
      mass += Math.exp(value - top);
      weighted += (value - top) * Math.exp(value - top);
    }
    const logMass = Math.log(mass);
    const expected = [z[ids[row]] - top - logMass, logMass - weighted / mass, top + logMass];
    expected.forEach((value, i) => (worst = Math.max(worst, Math.abs(got[i][row] - value) / Math.abs(value))));
  }
  return worst;
}

async function measureLosses({ loss_rows, loss_width, timing }) {
  const shape = [loss_rows, loss_width];
  const results = {};
  const old_log_probs = random(shape, { uniform: true, scale: -3, seed: 5 });
  const mark = (below, seed) =>
    tf.tidy(() => tf.cast(tf.less(random(shape, { uniform: true, seed }), below), "float32"));
  const tensors = {
    old_log_probs,
    log_probs: tf.tidy(() => tf.add(old_log_probs, random(shape, { scale: 0.3, seed: 6 }))),
    advantages: random(shape, { seed: 7 }),
    response_mask: mark(0.9, 8),
    clip_cov_tokens: mark(0.01, 9),
    kl_cov_tokens: mark(0.01, 10),
  };
  const denominators = { tokens: 0.9 * loss_rows * loss_width, sequences: loss_rows, scaleFactor: loss_width };
  for (const key of LOSSES) {
    const loss = registries.policy_loss.resolve(key);
    const config = lossConfig(key);
    // Each field read once, the gradient written once.
    const fields = 4 - (key === "gpg") + key.endsWith("_cov");
    results[`${key}_bytes`] = 4 * (fields + 1) * loss_rows * loss_width;
    results[key] = await deviceMs(
      () =>
        tf.valueAndGrad((log_probs) => {
          const agg = createAggregate(config.loss_agg_mode, tensors.response_mask, denominators);
          return loss.compute({ ...tensors, log_probs }, config, agg).loss;
        })(tensors.log_probs),
      timing,
    );
  }
  tf.dispose(tensors);
  return results;
}

async function measureLinear({ tokens, hidden: width, vocabulary, linearRepeats: repeats }) {
  const results = {};
  const hidden = random([tokens, width], { seed: 11 });
  const weight = random([vocabulary, width], { scale: 1 / Math.sqrt(width), seed: 12 });
  const targets = tf.tensor1d(
    Int32Array.from({ length: tokens }, (_, i) => (i * 7919) % vocabulary),
    "int32",
  );
  await targets.data();
  const allocated = () => gpu().bufferManager.numBytesAllocated;
  const statistics = (x, w) => linearLogProbEntropy(x, w, targets, ["log_probs", "entropy"], { temperature: 1 });
  const held = allocated();
  results.linear_forward = await deviceMs(() => statistics(hidden, weight), { repeats, warm: 1 });
  results.linear_forward_bytes = allocated() - held;
  const both = () => tf.grads((x, w) => tf.mean(statistics(x, w).log_probs))([hidden, weight]);
  results.linear_both = await deviceMs(both, { repeats, warm: 1 });
  results.linear_both_bytes = allocated() - held;
  results.linear_gradient_bytes = 4 * width * (tokens + vocabulary);
  tf.dispose([hidden, weight, targets]);
  return results;
}
