import { describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { createRng, linearLogProbEntropy } from "verl";
import { entropyOf, sumPiSquaredOf } from "../engine/support/reference-decoder.ts";

// Without it tfjs prints a banner.
tf.enableProdMode();

const [TOKENS, WIDTH, VOCABULARY] = [5, 4, 23];
const rng = createRng(2);
const normals = (count: number) => Float32Array.from({ length: count }, () => 2 * rng.normal());
const hidden = tf.tensor2d(normals(TOKENS * WIDTH), [TOKENS, WIDTH]);
const head = tf.tensor2d(normals(VOCABULARY * WIDTH), [VOCABULARY, WIDTH]);
const targets = tf.tensor1d([0, 22, 7, 7, 15], "int32");
const ALL = ["log_probs", "entropy", "sum_pi_squared"] as const;

const plain = (x: tf.Tensor2D, w: tf.Tensor2D, temperature: number) =>
  tf.logSoftmax(tf.div<tf.Tensor2D>(tf.matMul(x, w, false, true), temperature));

describe.each([1, 3, 7, 22, 23, 1000])("linearLogProbEntropy with at most %i vocabulary entries at once", (columns) => {
  const options = { temperature: 1.4, pieceElements: columns * TOKENS };

  it("equals the distribution written out", () => {
    const rows = plain(hidden, head, 1.4).arraySync();
    const got = linearLogProbEntropy(hidden, head, targets, ALL, options);
    const ids = targets.arraySync();
    const expected = {
      log_probs: rows.map((row, t) => row[ids[t]!]!),
      entropy: rows.map(entropyOf),
      sum_pi_squared: rows.map(sumPiSquaredOf),
    };
    for (const name of ALL) {
      got[name].arraySync().forEach((value, t) => expect(value).toBeCloseTo(expected[name][t]!, 5));
    }
  });

  it("has the gradients of the distribution written out", () => {
    const [a, b] = [tf.tensor1d([1, -2, 0.5, 3, 0]), tf.tensor1d([0.3, 1, -1, 0, 2])];
    const ours = (x: tf.Tensor, w: tf.Tensor) => {
      const { log_probs, entropy } = linearLogProbEntropy(
        x as tf.Tensor2D,
        w as tf.Tensor2D,
        targets,
        ["log_probs", "entropy"],
        options,
      );
      return tf.sum<tf.Scalar>(tf.add(tf.mul(log_probs, a), tf.mul(entropy, b)));
    };
    const theirs = (x: tf.Tensor, w: tf.Tensor) => {
      const logs = plain(x as tf.Tensor2D, w as tf.Tensor2D, 1.4);
      const chosen = tf.sum(tf.mul(logs, tf.oneHot(targets, VOCABULARY)), 1);
      const entropy = tf.neg(tf.sum(tf.mul(tf.exp(logs), logs), 1));
      return tf.sum<tf.Scalar>(tf.add(tf.mul(chosen, a), tf.mul(entropy, b)));
    };
    const [got, expected] = [ours, theirs].map((fn) => tf.grads(fn)([hidden, head]));
    got!.forEach((gradient, i) => {
      const wanted = expected![i]!.dataSync();
      gradient.dataSync().forEach((value, j) => expect(value).toBeCloseTo(wanted[j]!, 4));
    });
  });
});

it("survives logits that overflow exp", () => {
  const loud = tf.mul<tf.Tensor2D>(hidden, 1000);
  const { log_probs, entropy } = linearLogProbEntropy(loud, head, targets, ["log_probs", "entropy"], {
    temperature: 1,
    pieceElements: 20,
  });
  for (const value of [...log_probs.dataSync(), ...entropy.dataSync()]) expect(Number.isFinite(value)).toBe(true);
});
