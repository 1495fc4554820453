import { afterEach, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { DataProto, NdArray, createRng, type WeightMap } from "verl";
import { parseModelConfig } from "../../plugins/engine/embedded/model-config.ts";
import { entropyOf, referenceHidden, referenceLogProbs, sumPiSquaredOf } from "./support/reference-decoder.ts";
import { TINY, batchOf, linearLoss, tinyEngine, type TinyOptions } from "./support/tiny-model.ts";

const ROWS = [
  { prompt: [1, 2, 3], response: [4, 5] },
  { prompt: [6], response: [7, 8, 9, 10] },
  { prompt: [2, 2, 9, 1, 5], response: [3] },
];
const SHAPE = { promptLength: 6, responseLength: 5 };
const weight = (rows: number) => ({
  weight: new NdArray(
    "float32",
    [rows, 5],
    Float32Array.from({ length: rows * 5 }, (_, i) => Math.sin(i + 1)),
  ),
});

const engines: { dispose(): void }[] = [];
const make = (options?: TinyOptions) => {
  const engine = tinyEngine(options);
  engines.push(engine);
  return engine;
};
afterEach(() => engines.splice(0).forEach((engine) => engine.dispose()));

/** Expected matrix of the batch, 0 where there is no response token. */
function expected(
  weights: WeightMap,
  config: Record<string, unknown>,
  temperature: number,
  pick: (logProbs: number[], id: number) => number,
) {
  const out = new Float64Array(ROWS.length * SHAPE.responseLength);
  ROWS.forEach(({ prompt, response }, row) => {
    const logProbs = referenceLogProbs(weights, parseModelConfig(config), [...prompt, ...response], temperature);
    response.forEach((id, t) => (out[row * SHAPE.responseLength + t] = pick(logProbs[prompt.length + t - 1]!, id)));
  });
  return out;
}

function expectClose(actual: ArrayLike<number>, wanted: ArrayLike<number>, tolerance: number) {
  expect(actual.length).toBe(wanted.length);
  for (let i = 0; i < wanted.length; i += 1) expect(Math.abs(actual[i]! - wanted[i]!)).toBeLessThan(tolerance);
}

describe("forward", () => {
  it.each([
    ["grouped-query, tied", TINY, 1],
    ["full heads, untied, hot", { ...TINY, num_key_value_heads: 4, tie_word_embeddings: false }, 1.7],
    ["one key head, cold", { ...TINY, num_key_value_heads: 1 }, 0.6],
  ])("equals the float64 reference: %s", async (_, config, temperature) => {
    const engine = make({ config });
    const weights = await engine.exportWeights();
    const outputs = ["log_probs", "entropy", "sum_pi_squared"] as const;
    const out = await engine.forward(batchOf(ROWS, SHAPE), { temperature, outputs });
    expect(out.log_probs!.shape).toEqual([3, 5]);
    expectClose(
      out.log_probs!.data,
      expected(weights, config, temperature, (row, id) => row[id]!),
      1e-5,
    );
    expectClose(out.entropy!.data, expected(weights, config, temperature, entropyOf), 1e-5);
    expectClose(out.sum_pi_squared!.data, expected(weights, config, temperature, sumPiSquaredOf), 1e-5);
  });

  it("does not depend on padding, on other rows, or on what stands behind the mask", async () => {
    const engine = make();
    const whole = await engine.forward(batchOf(ROWS, SHAPE), { temperature: 1 });
    const wide = await engine.forward(batchOf(ROWS, { promptLength: 21, responseLength: 17, pad: 10 }), {
      temperature: 1,
    });
    const garbage = batchOf(ROWS, SHAPE);
    const [ids, mask, positions] = (["input_ids", "attention_mask", "position_ids"] as const).map((key) =>
      garbage.batch.get(key, "int32"),
    );
    mask!.data.forEach((flag, i) => {
      if (flag === 0) [ids!.data[i], positions!.data[i]] = [-7, 10_000];
    });
    const inert = await engine.forward(garbage, { temperature: 1 });
    for (const [row, { response }] of ROWS.entries()) {
      const alone = await engine.forward(
        batchOf([ROWS[row]!], { promptLength: ROWS[row]!.prompt.length, responseLength: response.length }),
        { temperature: 1 },
      );
      const tokens = whole.log_probs!.data.subarray(row * 5, row * 5 + response.length);
      expectClose(alone.log_probs!.data, tokens, 1e-6);
      expectClose(wide.log_probs!.data.subarray(row * 17, row * 17 + response.length), tokens, 1e-6);
    }
    expect(wide.log_probs!.data.subarray(2, 17).every((value) => value === 0)).toBe(true);
    expect(inert.log_probs!.data).toEqual(whole.log_probs!.data);
  });

  it("keeps packed conversations apart", async () => {
    const engine = make();
    const conversations = [
      [1, 2, 3, 4],
      [5, 6],
      [7, 8, 9],
    ];
    const [first, ...rest] = conversations.flat();
    const packed = batchOf([{ prompt: [first!], response: rest }], { promptLength: 1, responseLength: 8 });
    const matrix = (rows: number[][]) => new NdArray("int32", [1, 9], Int32Array.from(rows.flat()));
    const batch = packed.union(
      new DataProto({ batch: { segment_ids: matrix(conversations.map((ids, i) => ids.map(() => i + 1))) } }),
    );
    batch.batch.get("position_ids", "int32").data.set(conversations.flatMap((ids) => ids.map((_, i) => i)));
    const together = (await engine.forward(batch, { temperature: 1 })).log_probs!.data;
    let at = 0;
    for (const [start, ...response] of conversations) {
      const shape = { promptLength: 1, responseLength: response.length };
      const alone = await engine.forward(batchOf([{ prompt: [start!], response }], shape), { temperature: 1 });
      expectClose(together.subarray(at, at + response.length), alone.log_probs!.data, 1e-6);
      at += response.length + 1;
    }
  });

  it("gives a critic's values: zero at the start, then score · hidden", async () => {
    const critic = make({ role: "critic" });
    const batch = batchOf(ROWS, SHAPE);
    expect(
      (await critic.forward(batch, { temperature: 1, outputs: ["values"] })).values!.data.every((value) => value === 0),
    ).toBe(true);
    const state = await critic.saveState();
    const score = state.arrays.get("model.score.weight")!.data as Float32Array;
    score.forEach((_, i) => (score[i] = i - 3));
    await critic.loadState(state);
    const { values } = await critic.forward(batch, { temperature: 1, outputs: ["values"] });
    const hidden = referenceHidden(await critic.exportWeights(), parseModelConfig(TINY), [1, 2, 3, 4]);
    const wanted = hidden.slice(2).map((row) => row.reduce((total, value, i) => total + value * (i - 3), 0));
    expectClose(values!.data.subarray(0, 2), wanted, 1e-4);
    await expect(critic.forward(batch, { temperature: 1 })).rejects.toMatchObject({ code: "VERL_INTERNAL" });
  });

  it("refuses ids and positions that the model does not have, and shapes without anything to predict", async () => {
    const engine = make();
    const broken = [
      batchOf([{ prompt: [1, 11], response: [2] }], { promptLength: 2, responseLength: 1 }),
      batchOf([{ prompt: [1, -1], response: [2] }], { promptLength: 2, responseLength: 1 }),
      batchOf([{ prompt: Array<number>(64).fill(1), response: [2] }], { promptLength: 64, responseLength: 1 }),
      batchOf([{ prompt: [], response: [2] }], { promptLength: 0, responseLength: 1 }),
      batchOf([], { promptLength: 1, responseLength: 1 }),
    ];
    for (const batch of broken)
      await expect(engine.forward(batch, { temperature: 1 })).rejects.toMatchObject({ code: "VERL_ENGINE_BATCH" });
  });
});

describe("forwardBackward", () => {
  it("agrees with finite differences of the float64 reference, weight by weight", async () => {
    // Plain gradient descent in disguise: with β = (0, 0) and a huge ε, AdamW's step is lr/ε times the gradient.
    const engine = make({ optim: { lr: 1e6, eps: 1e6, betas: [0, 0], weight_decay: 0, clip_grad: 1e9 } });
    const before = await engine.exportWeights();
    const coefficients = weight(3);
    const { loss, metrics } = await engine.forwardBackward(batchOf(ROWS, SHAPE, coefficients), linearLoss(0.3), {
      temperature: 1.3,
    });
    await engine.optimStep();
    const after = await engine.exportWeights();

    const sizes = parseModelConfig(TINY);
    const reference = (weights: WeightMap) => {
      let total = 0;
      ROWS.forEach(({ prompt, response }, row) => {
        const logProbs = referenceLogProbs(weights, sizes, [...prompt, ...response], 1.3);
        response.forEach((id, t) => {
          const distribution = logProbs[prompt.length + t - 1]!;
          total -= distribution[id]! * coefficients.weight.data[row * 5 + t]! + 0.3 * entropyOf(distribution);
        });
      });
      return total;
    };
    expect(loss).toBeCloseTo(reference(before), 4);
    expect(Object.keys(metrics)).toEqual(["actor/policy"]);
    const rng = createRng(9);
    for (const [name, array] of before) {
      for (let trial = 0; trial < 3; trial += 1) {
        const at = rng.below(array.data.length);
        const nudged = (by: number) => {
          const data = Float64Array.from(array.data);
          data[at]! += by;
          return new Map([...before, [name, { shape: array.shape, data } as unknown as NdArray<"float32">]]);
        };
        const slope = (reference(nudged(1e-4)) - reference(nudged(-1e-4))) / 2e-4;
        const gradient = array.data[at]! - after.get(name)!.data[at]!;
        expect(Math.abs(gradient - slope)).toBeLessThan(1e-3 * Math.max(1, Math.abs(slope)));
      }
    }
  });

  it("accumulates: micro-batches of any split give the step of the whole", async () => {
    const stepOf = async (splits: (typeof ROWS)[]) => {
      const engine = make();
      let start = 0;
      let total = 0;
      for (const rows of splits) {
        const all = weight(3).weight.data;
        const part = new NdArray("float32", [rows.length, 5], all.slice(start * 5, (start + rows.length) * 5));
        total += (
          await engine.forwardBackward(batchOf(rows, SHAPE, { weight: part }), linearLoss(), { temperature: 1 })
        ).loss;
        start += rows.length;
      }
      return { total, result: await engine.optimStep(), weights: await engine.exportWeights() };
    };
    const whole = await stepOf([ROWS]);
    const parts = await stepOf([ROWS.slice(0, 1), ROWS.slice(1)]);
    expect(parts.total).toBeCloseTo(whole.total, 4);
    expect(parts.result.gradNorm).toBeCloseTo(whole.result.gradNorm, 4);
    for (const [name, { data }] of whole.weights) expectClose(parts.weights.get(name)!.data, data, 2e-4);
  });

  it("names row, token and tensor of a loss that is not finite, and leaves everything as it was", async () => {
    const engine = make();
    const good = batchOf(ROWS, SHAPE, weight(3));
    const bad = weight(3);
    bad.weight.data[1 * 5 + 2] = NaN;
    await engine.forwardBackward(good, linearLoss(), { temperature: 1 });
    await expect(
      engine.forwardBackward(batchOf(ROWS, SHAPE, bad), linearLoss(), { temperature: 1 }),
    ).rejects.toMatchObject({
      code: "VERL_ENGINE_NOT_FINITE",
      details: { tensor: "weight", row: 1, token: 2 },
    });
    const { gradNorm } = await engine.optimStep();
    const clean = make();
    await clean.forwardBackward(good, linearLoss(), { temperature: 1 });
    expect((await clean.optimStep()).gradNorm).toBe(gradNorm);
    expect(await clean.exportWeights()).toEqual(await engine.exportWeights());
  });

  it("lets NaN behind the mask pass", async () => {
    const engine = make();
    const hidden = weight(3);
    hidden.weight.data[2 * 5 + 4] = NaN;
    const { loss } = await engine.forwardBackward(batchOf(ROWS, SHAPE, hidden), linearLoss(), { temperature: 1 });
    expect(Number.isFinite(loss)).toBe(true);
  });

  it("skips a step whose gradient is not finite, and says so", async () => {
    const warnings: string[] = [];
    const engine = make({
      log: { debug() {}, info() {}, warn: (message) => void warnings.push(message), warnOnce() {} },
    });
    const before = await engine.exportWeights();
    const explode = {
      ...linearLoss(),
      compute: ({ log_probs }: { log_probs: tf.Tensor2D }) => ({
        // Finite, with a gradient whose norm overflows: on a GPU a NaN may come out as any number.
        loss: tf.sum<tf.Scalar>(tf.mul(log_probs, 1e30)),
        metrics: {},
      }),
    };
    await engine.forwardBackward(batchOf(ROWS, SHAPE, weight(3)), explode, { temperature: 1 });
    expect(await engine.optimStep()).toMatchObject({ skipped: true });
    expect(warnings).toHaveLength(1);
    expect(await engine.exportWeights()).toEqual(before);
  });

  it("refuses a loss that the model has no part in", async () => {
    const engine = make();
    const constant = { ...linearLoss(), compute: () => ({ loss: tf.scalar(1), metrics: {} }) };
    await expect(
      engine.forwardBackward(batchOf(ROWS, SHAPE, weight(3)), constant, { temperature: 1 }),
    ).rejects.toMatchObject({ code: "VERL_ENGINE_LOSS_CONSTANT" });
  });

  it("keeps no tensor behind", async () => {
    const engine = make();
    const step = async () => {
      await engine.forward(batchOf(ROWS, SHAPE), { temperature: 1 });
      await engine.forwardBackward(batchOf(ROWS, SHAPE, weight(3)), linearLoss(), { temperature: 1 });
      await engine.optimStep();
    };
    await step();
    const { numTensors } = tf.memory();
    await step();
    expect(tf.memory().numTensors).toBe(numTensors);
  });
});

describe("saved state", () => {
  it("resumes to the last bit; on a GPU, which sums the embedding's gradient in no fixed order, to rounding", async () => {
    const batch = () => batchOf(ROWS, SHAPE, weight(3));
    const train = async (engine: ReturnType<typeof tinyEngine>, steps: number) => {
      for (let i = 0; i < steps; i += 1) {
        await engine.forwardBackward(batch(), linearLoss(), { temperature: 1 });
        await engine.optimStep();
      }
    };
    const optim = { lr_warmup_steps: 3 };
    const straight = make({ optim });
    await train(straight, 5);
    const first = make({ optim });
    await train(first, 2);
    const state = await first.saveState();
    await train(first, 1);
    const resumed = make({ optim, seed: 77 });
    await resumed.loadState({ arrays: new Map(state.arrays), json: JSON.parse(JSON.stringify(state.json)) });
    await train(resumed, 3);
    const [got, wanted] = [await resumed.exportWeights(), await straight.exportWeights()];
    if (tf.getBackend() !== "webgpu") return expect(got).toEqual(wanted);
    for (const [name, { data }] of wanted) expectClose(got.get(name)!.data, data, 1e-5);
  });

  it("refuses a state of another model", async () => {
    const state = await make({ config: { ...TINY, hidden_size: 16 } }).saveState();
    await expect(make().loadState(state)).rejects.toMatchObject({ code: "VERL_MODEL_WEIGHTS" });
    const partial = await make().saveState();
    partial.arrays.delete("optimizer.first.model.norm.weight");
    await expect(make().loadState(partial)).rejects.toMatchObject({ code: "VERL_ENGINE_STATE" });
  });
});
