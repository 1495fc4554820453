import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { NdArray, createRng, type DataProto, type RoleConfig, type TokenLoss } from "verl";
import { EmbeddedEngine } from "../../plugins/engine/embedded/embedded-engine.ts";
import { parseModelConfig } from "../../plugins/engine/embedded/model-config.ts";
import { referenceHidden } from "./support/reference-decoder.ts";
import { OPTIM, TINY, batchOf, silent, tinyEngine } from "./support/tiny-model.ts";

const ROWS = [
  { prompt: [1, 2, 3], response: [4, 5] },
  { prompt: [6], response: [7, 8, 9] },
];
const TARGETS = [0.5, -1, 9, 2, 0.25, 1];

const batch = (): DataProto =>
  batchOf(
    ROWS,
    { promptLength: 4, responseLength: 3 },
    { returns: new NdArray("float32", [2, 3], Float32Array.from(TARGETS)) },
  );

/** ½ Σ (V − R)² over unmasked tokens. */
const squaredError: TokenLoss = {
  fields: ["response_mask", "returns"],
  outputs: ["values"],
  compute({ values, fields }) {
    const error = tf.sub(values!, fields["returns"]!);
    const kept = tf.where(tf.greater(fields["response_mask"]!, 0), tf.square(error), tf.zerosLike(error));
    return { loss: tf.mul<tf.Scalar>(tf.sum(kept), 0.5), metrics: {} };
  },
};

const engines: EmbeddedEngine[] = [];
const keep = (engine: EmbeddedEngine): EmbeddedEngine => {
  engines.push(engine);
  return engine;
};
const fromFolder = (path: string, role: RoleConfig["role"]): EmbeddedEngine =>
  keep(new EmbeddedEngine({ role, model: { path }, optim: OPTIM }, createRng(2), silent));

afterEach(() => engines.splice(0).forEach((engine) => engine.dispose()));

describe("a value model", () => {
  it("starts with the gradient that the head of zeros has: Σ (0 − R) · hidden, and none for the rest", async () => {
    const critic = keep(tinyEngine({ role: "critic" }));
    const weights = await critic.exportWeights();
    const wanted = new Array<number>(TINY.hidden_size).fill(0);
    ROWS.forEach(({ prompt, response }, row) => {
      const hidden = referenceHidden(weights, parseModelConfig(TINY), [...prompt, ...response]);
      response.forEach((_, t) =>
        hidden[prompt.length + t - 1]!.forEach((value, i) => (wanted[i]! -= TARGETS[row * 3 + t]! * value)),
      );
    });
    await critic.forwardBackward(batch(), squaredError, { temperature: 1 });
    expect((await critic.optimStep()).gradNorm).toBeCloseTo(Math.hypot(...wanted), 4);
  });

  it("learns its targets, whatever the temperature of the policy", async () => {
    const [critic, other] = [keep(tinyEngine({ role: "critic" })), keep(tinyEngine({ role: "critic" }))];
    const losses: number[] = [];
    for (let step = 0; step < 30; step += 1) {
      losses.push((await critic.forwardBackward(batch(), squaredError, { temperature: 1 })).loss);
      expect((await other.forwardBackward(batch(), squaredError, { temperature: 0.5 })).loss).toBe(losses.at(-1));
      await critic.optimStep();
      await other.optimStep();
    }
    expect(losses.at(-1)).toBeLessThan(0.2 * losses[0]!);
  });

  it("writes a folder from which another critic starts, and no policy", async () => {
    const critic = keep(tinyEngine({ role: "critic" }));
    await critic.forwardBackward(batch(), squaredError, { temperature: 1 });
    await critic.optimStep();
    const folder = mkdtempSync(join(tmpdir(), "verl-critic-"));
    await critic.savePretrained(folder);
    expect(JSON.parse(readFileSync(join(folder, "config.json"), "utf8"))).toMatchObject({
      architectures: ["LlamaForTokenClassification"],
      num_labels: 1,
    });
    const outputs = ["values"] as const;
    const [one, again] = [critic, fromFolder(folder, "critic")].map((engine) =>
      engine.forward(batch(), { temperature: 1, outputs }),
    );
    const { values } = await one!;
    expect(values!.data.some((value) => value !== 0)).toBe(true);
    expect((await again!).values).toEqual(values);
    await expect(fromFolder(folder, "actor").exportWeights()).rejects.toMatchObject({
      code: "VERL_MODEL_CONFIG",
      message: expect.stringContaining("LlamaForTokenClassification"),
    });
  });
});
