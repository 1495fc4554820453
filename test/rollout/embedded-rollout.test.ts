import { afterEach, describe, expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { createRng, type Generation, type SamplingParams, type WeightMap } from "verl";
import { parseModelConfig } from "../../plugins/engine/embedded/model-config.ts";
import { saveModelFolder } from "../../plugins/engine/embedded/model-folder.ts";
import { randomWeights } from "../../plugins/engine/embedded/weights.ts";
import { EmbeddedRollout } from "../../plugins/rollout/embedded/embedded-rollout.ts";
import { wasm } from "../../plugins/tensor-backend/wasm.ts";
import { referenceLogProbs } from "../engine/support/reference-decoder.ts";
import { TINY, batchOf, modelFolder, tinyEngine } from "../engine/support/tiny-model.ts";

await wasm.activate({ threads: 1 });

const EOS = 0;
const GREEDY: SamplingParams = { temperature: 0, top_k: -1, top_p: 1, max_tokens: 5, stop_token_ids: [], seed: 1 };
const RANDOM: SamplingParams = { ...GREEDY, temperature: 1, ignore_eos: true };
const ids = (...values: number[]) => Int32Array.from(values);

const open: { dispose(): void }[] = [];
afterEach(() => open.splice(0).forEach((engine) => engine.dispose()));

/** Weights large enough for distributions that are far from uniform. */
function weightsOf(config: Record<string, unknown> = TINY, seed = 5): WeightMap {
  const weights = randomWeights(parseModelConfig(config), createRng(seed));
  const embedding = weights.get("model.embed_tokens.weight")!.data;
  embedding.forEach((value, i) => (embedding[i] = value * 40));
  return weights;
}

async function rollout({
  config = TINY,
  max_num_seqs = 256,
  weights = weightsOf(config),
} = {}): Promise<EmbeddedRollout> {
  const engine = new EmbeddedRollout(
    { role: "rollout", model: { path: modelFolder(config) }, max_num_seqs },
    { eosTokenId: EOS },
  );
  open.push(engine);
  await engine.updateWeights(weights);
  return engine;
}

/** log-probs of an answer's tokens by the float64 reference. */
function referenceOf(
  weights: WeightMap,
  config: Record<string, unknown>,
  prompt: Int32Array,
  answer: Generation,
  temperature: number,
): number[] {
  const rows = referenceLogProbs(weights, parseModelConfig(config), [...prompt, ...answer.ids], temperature);
  return Array.from(answer.ids, (id, t) => rows[prompt.length + t - 1]![id]!);
}

const closeTo = (actual: ArrayLike<number>, wanted: ArrayLike<number>, tolerance: number) => {
  expect(actual.length).toBe(wanted.length);
  for (let i = 0; i < wanted.length; i += 1) expect(Math.abs(actual[i]! - wanted[i]!)).toBeLessThan(tolerance);
};

describe("generate", () => {
  it.each([
    ["tied, grouped", TINY, 1],
    ["untied, full heads, hot", { ...TINY, tie_word_embeddings: false, num_key_value_heads: 4 }, 1.8],
    ["cold", TINY, 0.5],
  ])("gives the log-probs of the trainer and of the float64 reference: %s", async (_, config, temperature) => {
    const trainer = tinyEngine({ config });
    open.push(trainer);
    const weights = await trainer.exportWeights();
    const sampler = await rollout({ config, weights });
    const prompts = [ids(1), ids(2, 3, 4), ids(5, 6, 7, 8, 9, 10, 1, 2, 3, 4), ids(2, 3, 4)];
    const answers = await Promise.all(
      prompts.map((prompt, i) => sampler.generate(prompt, { ...RANDOM, temperature, seed: i, max_tokens: 3 + 8 * i })),
    );
    const rows = prompts.map((prompt, i) => ({ prompt: [...prompt], response: [...answers[i]!.ids] }));
    const { log_probs } = await trainer.forward(batchOf(rows, { promptLength: 12, responseLength: 30 }), {
      temperature,
    });
    answers.forEach((answer, i) => {
      expect(answer.ids).toHaveLength(3 + 8 * i);
      closeTo(answer.logprobs, log_probs!.data.subarray(i * 30, i * 30 + answer.ids.length), 1e-4);
      closeTo(answer.logprobs, referenceOf(weights, config, prompts[i]!, answer, temperature), 1e-4);
    });
  });

  it("takes the likeliest token at temperature 0", async () => {
    const weights = weightsOf();
    const sampler = await rollout({ weights });
    const prompt = ids(3, 1, 4);
    const answer = await sampler.generate(prompt, { ...GREEDY, ignore_eos: true, max_tokens: 20 });
    const rows = referenceLogProbs(weights, parseModelConfig(TINY), [...prompt, ...answer.ids], 1);
    const best = Array.from(answer.ids, (_, t) => rows[prompt.length + t - 1]!).map((row) =>
      row.indexOf(Math.max(...row)),
    );
    expect([...answer.ids]).toEqual(best);
    closeTo(answer.logprobs, referenceOf(weights, TINY, prompt, answer, 1), 1e-4);
  });

  it("answers alike whatever else is in the batch, and differently for another seed", async () => {
    const sampler = await rollout();
    const ask = (prompt: Int32Array, seed: number, length = 12) =>
      sampler.generate(prompt, { ...RANDOM, seed, max_tokens: length });
    const alone = await ask(ids(1, 2, 3), 7);
    const [together] = await Promise.all([
      ask(ids(1, 2, 3), 7),
      ...Array.from({ length: 12 }, (_, i) => ask(ids(1 + (i % 10), 5, 2, 8, 1, 1, 9), i, 1 + i)),
      sampler.generate(ids(4), GREEDY),
      sampler.generate(ids(4), { ...RANDOM, top_k: 2 }),
    ]);
    expect(together.ids).toEqual(alone.ids);
    closeTo(together.logprobs, alone.logprobs, 1e-5);
    expect((await ask(ids(1, 2, 3), 8)).ids).not.toEqual(alone.ids);
  });

  it("samples each token as often as its probability says", async () => {
    const weights = weightsOf();
    const sampler = await rollout({ weights, max_num_seqs: 1024 });
    const answers = await Promise.all(
      Array.from({ length: 1024 }, (_, seed) =>
        sampler.generate(ids(6, 2), { ...RANDOM, seed, max_tokens: 1, temperature: 1.5 }),
      ),
    );
    const counts = new Float64Array(11);
    for (const answer of answers) counts[answer.ids[0]!]! += 1 / answers.length;
    const [, last] = referenceLogProbs(weights, parseModelConfig(TINY), [6, 2], 1.5);
    closeTo(counts, last!.map(Math.exp), 0.06);
  });

  it("keeps to top-k and top-p, with log-probs before renormalisation", async () => {
    const weights = weightsOf();
    const sampler = await rollout({ weights });
    const [, row] = referenceLogProbs(weights, parseModelConfig(TINY), [6, 2], 1);
    const order = row!.map((_, id) => id).sort((a, b) => row![b]! - row![a]!);
    const nucleus = new Set<number>();
    for (let mass = 0; mass < 0.8; mass += Math.exp(row![order[nucleus.size - 1]!]!)) nucleus.add(order[nucleus.size]!);
    const draw = async (limits: Partial<SamplingParams>) => {
      const asked = Array.from({ length: 200 }, (_, seed) =>
        sampler.generate(ids(6, 2), { ...RANDOM, ...limits, seed, max_tokens: 1 }),
      );
      const answers = await Promise.all(asked);
      for (const { ids, logprobs } of answers) expect(logprobs[0]).toBeCloseTo(row![ids[0]!]!, 4);
      return new Set(answers.map((answer) => answer.ids[0]!));
    };
    expect(await draw({ top_k: 1 })).toEqual(new Set(order.slice(0, 1)));
    const likeliest = new Set(order.slice(0, 3));
    for (const id of await draw({ top_k: 3 })) expect(likeliest.has(id)).toBe(true);
    for (const id of await draw({ top_p: 0.8 })) expect(nucleus.has(id)).toBe(true);
    for (const id of await draw({ top_p: 0.8, top_k: 1 })) expect(id).toBe(order[0]);
  });

  it("stops at the end-of-sequence token, at given stop ids, or at the length", async () => {
    const sampler = await rollout();
    const free = await sampler.generate(ids(1, 2), { ...GREEDY, ignore_eos: true, max_tokens: 12 });
    expect(free.stopReason).toBe("length");
    const stop = free.ids[4]!;
    const cut = free.ids.indexOf(stop) + 1;
    const stopped = await sampler.generate(ids(1, 2), {
      ...GREEDY,
      ignore_eos: true,
      max_tokens: 12,
      stop_token_ids: [stop],
    });
    expect(stopped).toMatchObject({ stopReason: "stop", ids: free.ids.slice(0, cut) });
    const seeds = Array.from({ length: 24 }, (_, seed) =>
      sampler.generate(ids(1, 2), { ...RANDOM, ignore_eos: false, seed, max_tokens: 16 }),
    );
    const ended = (await Promise.all(seeds)).filter((answer) => answer.stopReason === "stop");
    expect(ended.length).toBeGreaterThan(0);
    for (const answer of ended) expect(answer.ids.indexOf(EOS)).toBe(answer.ids.length - 1);
  });

  it("serves more requests than fit at once", async () => {
    const sampler = await rollout({ max_num_seqs: 3 });
    const wide = await rollout({ max_num_seqs: 100 });
    const ask = (engine: EmbeddedRollout) =>
      Promise.all(
        Array.from({ length: 10 }, (_, seed) =>
          engine.generate(ids(1 + seed), { ...RANDOM, seed, max_tokens: 1 + seed }),
        ),
      );
    expect((await ask(sampler)).map((answer) => [...answer.ids])).toEqual(
      (await ask(wide)).map((answer) => [...answer.ids]),
    );
  });

  it.each([
    [ids(), {}],
    [ids(11), {}],
    [ids(-1), {}],
    [ids(1), { max_tokens: 0 }],
    [ids(1), { max_tokens: 64 }],
    [ids(1), { temperature: -1 }],
    [ids(1), { temperature: NaN }],
    [ids(1), { top_p: 0 }],
    [ids(1), { top_k: 0 }],
    [ids(1), { seed: NaN }],
  ])("refuses the prompt %j with %j", async (prompt, sampling) => {
    const sampler = await rollout();
    await expect(sampler.generate(prompt, { ...RANDOM, ...sampling })).rejects.toMatchObject({
      code: "VERL_ROLLOUT_REQUEST",
    });
  });
});

describe("weights", () => {
  it("lets answers under way finish with the weights they began with", async () => {
    const sampler = await rollout({ weights: weightsOf(TINY, 5) });
    const before = await sampler.generate(ids(1, 2), { ...RANDOM, max_tokens: 30 });
    const running = sampler.generate(ids(1, 2), { ...RANDOM, max_tokens: 30 });
    await new Promise((resolve) => setImmediate(resolve));
    await sampler.updateWeights(weightsOf(TINY, 6));
    expect(await running).toEqual(before);
    const after = await sampler.generate(ids(1, 2), { ...RANDOM, max_tokens: 30 });
    expect(after.weightVersion).toBe(2);
    expect(after.ids).not.toEqual(before.ids);
  });

  it("is not moved by what the trainer does after the hand-over", async () => {
    const trainer = tinyEngine();
    open.push(trainer);
    const sampler = await rollout({ weights: await trainer.exportWeights() });
    const before = await sampler.generate(ids(1, 2), RANDOM);
    const state = await trainer.saveState();
    for (const { data } of state.arrays.values()) (data as Float32Array).fill(0);
    await trainer.loadState(state);
    expect(await sampler.generate(ids(1, 2), RANDOM)).toEqual(before);
  });

  it("come from the model folder when none were sent, and are missed when it has none", async () => {
    const folder = modelFolder();
    const sampler = new EmbeddedRollout({ role: "rollout", model: { path: folder } }, { eosTokenId: EOS });
    open.push(sampler);
    await expect(sampler.generate(ids(1), GREEDY)).rejects.toMatchObject({ code: "VERL_ROLLOUT_REQUEST" });
    const weights = weightsOf();
    await saveModelFolder(folder, parseModelConfig(TINY), weights, folder);
    const answer = await sampler.generate(ids(1), GREEDY);
    expect(answer).toMatchObject({
      weightVersion: 0,
      ids: (await (await rollout({ weights })).generate(ids(1), GREEDY)).ids,
    });
  });

  it("must come again after sleep gave them back", async () => {
    const weights = weightsOf();
    const sampler = await rollout({ weights });
    const before = await sampler.generate(ids(1), GREEDY);
    await sampler.sleep(["weights"]);
    await sampler.wake(["weights"]);
    await expect(sampler.generate(ids(1), GREEDY)).rejects.toMatchObject({ code: "VERL_ROLLOUT_REQUEST" });
    await sampler.updateWeights(weights);
    expect(await sampler.generate(ids(1), GREEDY)).toEqual({ ...before, weightVersion: 2 });
  });

  it("that are not finite are an error, not tokens", async () => {
    const weights = weightsOf();
    weights.get("model.norm.weight")!.data[3] = NaN;
    const sampler = await rollout({ weights });
    await expect(sampler.generate(ids(1), RANDOM)).rejects.toMatchObject({ code: "VERL_ENGINE_NOT_FINITE" });
    await expect(sampler.generate(ids(1), GREEDY)).rejects.toMatchObject({ code: "VERL_ENGINE_NOT_FINITE" });
  });

  it("must fit the model", async () => {
    const sampler = await rollout();
    await expect(sampler.updateWeights(weightsOf({ ...TINY, hidden_size: 16 }))).rejects.toMatchObject({
      code: "VERL_MODEL_WEIGHTS",
    });
    await expect(sampler.updateWeights(new Map())).rejects.toMatchObject({ code: "VERL_MODEL_WEIGHTS" });
  });
});

describe("a model that does not load", () => {
  it("fails every request, and nothing else", async () => {
    const sampler = new EmbeddedRollout({ role: "rollout", model: { path: "nowhere" } }, { eosTokenId: EOS });
    await expect(sampler.generate(ids(1), GREEDY)).rejects.toMatchObject({ code: "VERL_MODEL_CONFIG" });
    sampler.dispose();
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe("interruption", () => {
  it("abort ends waiting and running requests with what they have", async () => {
    const sampler = await rollout({ max_num_seqs: 1 });
    const long = { ...RANDOM, max_tokens: 50 };
    const free = await sampler.generate(ids(1), long);
    const [running, waiting] = [sampler.generate(ids(1), long), sampler.generate(ids(2), long)];
    await new Promise((resolve) => setImmediate(resolve));
    await sampler.abort();
    const cut = await running;
    expect(cut.stopReason).toBe("abort");
    expect(cut.ids.length).toBeLessThan(50);
    expect(cut.ids).toEqual(free.ids.slice(0, cut.ids.length));
    expect(await waiting).toMatchObject({ stopReason: "abort", ids: ids() });
    expect(await sampler.generate(ids(1), long)).toEqual(free);
  });

  it("a signal ends its own request alone", async () => {
    const sampler = await rollout();
    const controller = new AbortController();
    const long = { ...RANDOM, max_tokens: 50 };
    const cut = sampler.generate(ids(1), long, { signal: controller.signal });
    const whole = sampler.generate(ids(1), long);
    controller.abort();
    expect((await cut).stopReason).toBe("abort");
    expect((await whole).stopReason).toBe("length");
  });

  it("sleeps until it is woken", async () => {
    const sampler = await rollout();
    const before = await sampler.generate(ids(1), RANDOM);
    await sampler.sleep(["kv_cache"]);
    let answered = false;
    const pending = sampler.generate(ids(1), RANDOM).then((answer) => ((answered = true), answer));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(answered).toBe(false);
    await sampler.wake(["kv_cache"]);
    expect(await pending).toEqual(before);
  });

  it("gives all memory back", async () => {
    const sampler = await rollout();
    const ask = (seed: number) => sampler.generate(ids(1, 2), { ...RANDOM, seed, max_tokens: 20 });
    await Promise.all([ask(1), ask(2), ask(3)]);
    const { numTensors } = tf.memory();
    await Promise.all([ask(4), ask(5), ask(6)]);
    expect(tf.memory().numTensors).toBe(numTensors);
    await sampler.sleep(["weights", "kv_cache"]);
    expect(tf.memory().numTensors).toBeLessThan(numTensors);
  });

  it("gives back every tensor that it has made, caches of answers under way included, and goes on when all is woken", async () => {
    const weights = weightsOf();
    const before = tf.memory();
    const sampler = await rollout({ weights });
    const ask = () => sampler.generate(ids(1, 2), { ...RANDOM, max_tokens: 30 });
    const whole = await ask();
    const loaded = tf.memory().numBytes;
    const underWay = ask();
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(tf.memory().numBytes).toBeGreaterThan(loaded);
    await sampler.sleep(["weights", "kv_cache"]);
    expect(tf.memory()).toMatchObject({ numTensors: before.numTensors, numBytes: before.numBytes });
    expect(await underWay).toEqual(whole);

    const asleep = ask();
    await sampler.wake(["weights"]);
    await sampler.updateWeights(weights);
    // The cache of keys and values still sleeps.
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(tf.memory().numBytes).toBeLessThan(loaded);
    await sampler.wake(["kv_cache"]);
    expect(await asleep).toEqual({ ...whole, weightVersion: 2 });
    expect(tf.memory().numBytes).toBe(loaded);
  });
});
