import { afterEach, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import type { TokenLoss } from "verl";
import type { EmbeddedEngine } from "../../plugins/engine/embedded/embedded-engine.ts";
import { logSoftmax } from "../../plugins/engine/embedded/log-softmax.ts";
import { TINY, batchOf, tinyEngine } from "./support/tiny-model.ts";

const ROWS = [
  { prompt: [1, 2, 3], response: [4, 5] },
  { prompt: [6], response: [7, 8, 9] },
];
const batch = () => batchOf(ROWS, { promptLength: 4, responseLength: 3 });

const engines: EmbeddedEngine[] = [];
const tiny = (): EmbeddedEngine => {
  const engine = tinyEngine();
  engines.push(engine);
  return engine;
};
afterEach(() => engines.splice(0).forEach((engine) => engine.dispose()));

describe("the distribution over the vocabulary", () => {
  it("holds the sampled token's log-prob and the entropy, and sums to 1; zeros stand behind the mask", async () => {
    const outputs = ["log_probs", "entropy", "log_softmax"] as const;
    const { log_probs, entropy, log_softmax } = await tiny().forward(batch(), { temperature: 0.7, outputs });
    const vocabulary = TINY.vocab_size;
    expect(log_softmax!.shape).toEqual([2, 3, vocabulary]);
    ROWS.forEach(({ response }, row) => {
      response.forEach((token, t) => {
        const at = row * 3 + t;
        const words = log_softmax!.data.subarray(at * vocabulary, (at + 1) * vocabulary);
        expect(words[token]).toBeCloseTo(log_probs!.data[at]!, 5);
        expect(words.reduce((sum, word) => sum + Math.exp(word), 0)).toBeCloseTo(1, 5);
        expect(-words.reduce((sum, word) => sum + Math.exp(word) * word, 0)).toBeCloseTo(entropy!.data[at]!, 5);
      });
    });
    expect(log_softmax!.data.subarray(2 * vocabulary, 3 * vocabulary).every((word) => word === 0)).toBe(true);
  });

  it("carries the gradient that the sampled token's log-prob carries", async () => {
    const chosen: TokenLoss = {
      fields: ["response_mask"],
      outputs: ["log_probs"],
      compute: ({ log_probs, fields }) => ({
        loss: tf.neg<tf.Scalar>(tf.sum(tf.mul(log_probs, fields["response_mask"]!))),
        metrics: {},
      }),
    };
    const picked: TokenLoss = {
      fields: ["response_mask", "responses"],
      outputs: ["log_softmax"],
      compute: ({ log_softmax, fields }) => {
        const words = tf.oneHot(tf.cast(fields["responses"] as tf.Tensor2D, "int32"), TINY.vocab_size);
        const log_probs = tf.sum(tf.mul(log_softmax!, words), -1);
        return { loss: tf.neg<tf.Scalar>(tf.sum(tf.mul(log_probs, fields["response_mask"]!))), metrics: {} };
      },
    };
    const norms: number[] = [];
    for (const loss of [chosen, picked]) {
      const engine = tiny();
      await engine.forwardBackward(batch(), loss, { temperature: 0.7 });
      norms.push((await engine.optimStep()).gradNorm);
    }
    expect(norms[1]).toBeCloseTo(norms[0]!, 4);
    expect(norms[0]).toBeGreaterThan(0);
  });

  it("refuses what does not fit", () => {
    const [hidden, head] = [tf.zeros<tf.Rank.R2>([2 ** 15, 1]), tf.zeros<tf.Rank.R2>([2 ** 14, 1])];
    expect(() => logSoftmax(hidden, head, 1)).toThrow(expect.objectContaining({ code: "VERL_ENGINE_BATCH" }));
  });
});
