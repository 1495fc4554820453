/** An optimizer step of the actor on the GPU, beside that on `ort`: every built-in policy loss, aggregation and KL estimator. */
import { expect, it } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { countDenominators, NdArray, resolveKlPenalty, type PolicyLossConfig } from "verl";
import { alone } from "../../core/controller/peers.ts";
import { loadPlugins, registries } from "../../core/registry/index.ts";
import { actorLoss, actorLossFields } from "../../core/trainer/actor-loss.ts";
import { trainOnBatch } from "../../core/trainer/actor-update.ts";
import { lossPreparation } from "../../core/trainer/loss-preparation.ts";
import { ROW_FIELD } from "../../core/trainer/mini-batches.ts";
import { registerOrt } from "../../plugins/tensor-backend/ort/register-ort.ts";
import { actor } from "../algorithm/policy-loss-cases.ts";
import { batchOf, TINY, tinyEngine } from "../engine/support/tiny-model.ts";
import { useWebGpu } from "../kernel/on-webgpu.ts";

await loadPlugins([]);
registerOrt({ threads: 1 });
await useWebGpu();

const ROWS = [
  { prompt: [1, 2, 3], response: [4, 5] },
  { prompt: [6], response: [7, 8, 9, 10] },
  { prompt: [2, 2, 9, 1, 5], response: [3] },
  { prompt: [4, 4], response: [1, 2, 3] },
];
const [PROMPT, RESPONSE] = [6, 5];

const field = (shape: readonly number[], value: (at: number) => number): NdArray<"float32"> =>
  new NdArray(
    "float32",
    [...shape],
    Float32Array.from({ length: shape.reduce((a, b) => a * b) }, (_, at) => value(at)),
  );
const tokens = (value: (at: number) => number) => field([ROWS.length, RESPONSE], value);

/** Log-probs of an untrained model are near −log of the vocabulary. */
const near = (at: number): number => -Math.log(TINY.vocab_size) + 0.3 * Math.sin(at + 1);

const batch = batchOf(
  ROWS,
  { promptLength: PROMPT, responseLength: RESPONSE },
  {
    old_log_probs: tokens(near),
    ref_log_prob: tokens((at) => near(at + 2)),
    ref_log_softmax: field([ROWS.length, RESPONSE, TINY.vocab_size], near),
    advantages: tokens((at) => Math.cos(3 * at)),
  },
);

/** Options under which a loss does all that it can. */
const OPTIONS: Readonly<Record<string, object>> = {
  bypass_mode: {
    rollout_correction: {
      loss_type: "reinforce",
      rollout_is: "token",
      rollout_rs: "token_k1",
      rollout_rs_threshold: "0.8_1.2",
    },
  },
  // All candidates are cut: which of them a share falls on depends on the last bits of their numbers.
  clip_cov: { clip_cov_ratio: 1, clip_cov_lb: -100, clip_cov_ub: 100 },
  kl_cov: { kl_cov_ratio: 0.3 },
};

/** One layer, and one micro-batch: software Vulkan takes seconds for a pass. */
const SMALL = { ...TINY, num_hidden_layers: 1 };

/** Metrics of an optimizer step. */
async function train(backend: string, config: PolicyLossConfig, estimator: string): Promise<Record<string, number>> {
  await tf.setBackend(backend);
  const engine = tinyEngine({ config: SMALL });
  try {
    const policyLoss = registries.policy_loss.resolve(config.policy_loss.loss_mode);
    const kl = { penalty: resolveKlPenalty(estimator), coef: 0.1 };
    const parts = {
      ...{ policyLoss, config, kl, extraFields: policyLoss.requires ?? [] },
      ...{ entropyCoeff: 0.01, calculateEntropy: true },
    };
    const fields = actorLossFields(parts, (name) => batch.batch.has(name));
    const plan = { miniBatchRows: ROWS.length, epochs: 1, microBatch: { rows: ROWS.length }, temperature: 1 };
    return await trainOnBatch(engine, batch, plan, {
      prefix: "actor",
      prepare: lossPreparation(engine, parts, fields, plan, alone),
      makeLoss: (rows) => {
        const prepared = [...rows.batch.keys()].filter((name) => name !== ROW_FIELD && !batch.batch.has(name));
        return actorLoss(parts, [...fields, ...prepared], countDenominators(rows.tensor("response_mask"), null));
      },
    });
  } finally {
    engine.dispose();
  }
}

const cycle = (keys: readonly string[], index: number): string => keys[index % keys.length]!;

it.each(
  registries.policy_loss
    .keys()
    .map((key, i) => [key, cycle(registries.loss_agg.keys(), i), cycle(registries.kl_penalty.keys(), i)] as const),
)("trains by %s, with %s and the KL loss %s", async (loss_mode, loss_agg_mode, estimator) => {
  const config = actor(loss_mode, { loss_agg_mode, policy_loss: { loss_mode, ...OPTIONS[loss_mode] } });
  const [got, want] = [await train("webgpu", config, estimator), await train("ort", config, estimator)];
  expect(Object.keys(got).sort()).toEqual(Object.keys(want).sort());
  for (const [name, value] of Object.entries(want)) {
    const off = Math.abs(got[name]! - value);
    // Said with its name where it fails.
    if (!(off <= 1e-5 + 1e-3 * Math.abs(value))) expect({ [name]: got[name] }).toEqual({ [name]: value });
  }
  expect(got["actor/grad_norm"]).toBeGreaterThan(0.01);
});
