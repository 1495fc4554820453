import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { NdArray } from "../../core/batch/nd-array.ts";
import { kindInfo, registries, type Kind, type Registry } from "../../core/registry/index.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { SequentialSampler } from "../../plugins/sampler/sequential.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

const SOURCE = "verl-plugin-x@1.0.0";
const THROWN = new TypeError("x is not a function");
const fail = (): never => {
  throw THROWN;
};
const nan = (like: tf.Tensor): tf.Tensor2D => tf.mul(like, Number.NaN);
const of = (value: number, like: NdArray): NdArray<"float32"> => {
  const array = NdArray.zeros("float32", like.shape);
  array.data.fill(value);
  return array;
};

/** How a kind is chosen in a config. */
const CHOICE: Partial<Record<Kind, (key: string) => string[]>> = {
  adv_estimator: (key) => [`algorithm.adv_estimator=${key}`],
  policy_loss: (key) => [`actor_rollout_ref.actor.policy_loss.loss_mode=${key}`],
  loss_agg: (key) => [`actor_rollout_ref.actor.loss_agg_mode=${key}`],
  kl_penalty: (key) => ["algorithm.use_kl_in_reward=true", `algorithm.kl_penalty=${key}`],
  reward_manager: (key) => [`reward_model.reward_manager=${key}`],
  sampler: (key) => [`data.sampler.name=${key}`],
};
const klLoss = (key: string) => [
  "actor_rollout_ref.actor.use_kl_loss=true",
  `actor_rollout_ref.actor.kl_loss_type=${key}`,
];

const FAULTS: [kind: Kind, key: string, entry: object, expected: object, choice?: (key: string) => string[]][] = [
  ["adv_estimator", "throws", { compute: fail }, { code: "VERL_ENTRY_FAILED", cause: THROWN }],
  [
    "adv_estimator",
    "nothing",
    { compute: () => undefined },
    { code: "VERL_ALGORITHM_SHAPE", message: /no array as `advantages`/ },
  ],
  [
    "adv_estimator",
    "small",
    { compute: () => ({ advantages: NdArray.zeros("float32", [1, 1]) }) },
    { code: "VERL_ALGORITHM_SHAPE", message: /float32\[1, 1\] as `advantages`, not float32\[8, 5\]/ },
  ],
  [
    "adv_estimator",
    "nan",
    {
      compute: ({ response_mask: mask }: { response_mask: NdArray }) => ({
        advantages: of(0, mask),
        returns: of(NaN, mask),
      }),
    },
    { code: "VERL_ALGORITHM_NOT_FINITE", message: /`returns` is NaN at row 0, token 0/ },
  ],
  ["policy_loss", "throws", { compute: fail }, { code: "VERL_ENTRY_FAILED", cause: THROWN }],
  ["policy_loss", "unready", { prepare: fail, compute: fail }, { code: "VERL_ENTRY_FAILED", cause: THROWN }],
  ["policy_loss", "nothing", { compute: () => undefined }, { code: "VERL_ALGORITHM_SHAPE", message: /no tensor/ }],
  [
    "policy_loss",
    "matrix",
    { compute: ({ log_probs: loss }: { log_probs: tf.Tensor }) => ({ loss, metrics: {} }) },
    { code: "VERL_ALGORITHM_SHAPE", message: /a tensor of shape \[\d+, \d+\]/ },
  ],
  [
    "policy_loss",
    "constant",
    { compute: () => ({ loss: tf.scalar(1), metrics: {} }) },
    { code: "VERL_ENGINE_LOSS_CONSTANT" },
  ],
  [
    "policy_loss",
    "nan",
    {
      compute: ({ log_probs }: { log_probs: tf.Tensor }, _config: object, agg: (matrix: tf.Tensor) => tf.Scalar) => ({
        loss: agg(nan(log_probs)),
        metrics: {},
      }),
    },
    {
      code: "VERL_ENGINE_NOT_FINITE",
      message: /"the loss of each token" is NaN at row 0, token 0/,
      hint: /aggregated by "test-token-mean" of this program/,
    },
  ],
  ["loss_agg", "throws", { aggregate: fail }, { code: "VERL_ENTRY_FAILED", cause: THROWN }],
  ["loss_agg", "matrix", { aggregate: (matrix: tf.Tensor) => matrix }, { code: "VERL_ALGORITHM_SHAPE" }],
  [
    "loss_agg",
    "nan",
    { aggregate: (matrix: tf.Tensor) => tf.sum(nan(matrix)) },
    { code: "VERL_ENGINE_NOT_FINITE" },
    (key) => [...CHOICE.loss_agg!(key), "actor_rollout_ref.actor.calculate_entropy=true"],
  ],
  ["kl_penalty", "throws", { compute: fail }, { code: "VERL_ENTRY_FAILED", cause: THROWN }],
  ["kl_penalty", "nothing", { compute: () => undefined }, { code: "VERL_ALGORITHM_SHAPE" }],
  [
    "kl_penalty",
    "nan",
    { compute: nan },
    {
      code: "VERL_ALGORITHM_NOT_FINITE",
      message: /the KL is NaN at row 0, token 0 \(from old_log_probs -\d.* and ref_log_prob -\d/,
    },
  ],
  [
    "kl_penalty",
    "loss-throws",
    { compute: fail },
    { code: "VERL_ENTRY_FAILED", cause: THROWN },
    (key) => klLoss(`${key}+`),
  ],
  [
    "kl_penalty",
    "loss-nan",
    { compute: nan },
    { code: "VERL_ENGINE_NOT_FINITE", message: /"the loss of each token" is NaN at row 0, token 0/ },
    klLoss,
  ],
  [
    "reward_manager",
    "throws",
    {
      create: class {
        score = fail;
      },
    },
    { code: "VERL_ENTRY_FAILED", cause: THROWN },
  ],
  [
    "reward_manager",
    "rejects",
    {
      create: class {
        score = () => Promise.reject(THROWN);
      },
    },
    { code: "VERL_ENTRY_FAILED", cause: THROWN },
  ],
  [
    "reward_manager",
    "unloaded",
    {
      create: class {
        score = fail;
        load = fail;
      },
    },
    { code: "VERL_ENTRY_FAILED", cause: THROWN },
  ],
  [
    "reward_manager",
    "nothing",
    {
      create: class {
        score = () => Promise.resolve(undefined);
      },
    },
    { code: "VERL_REWARD_RESULT", message: /score\(\) returned nothing for 8 rows/ },
  ],
  [
    "reward_manager",
    "numbers",
    {
      create: class {
        score = () => Promise.resolve([1, 1, 1, 1, 1, 1, 1, 1]);
      },
    },
    { code: "VERL_REWARD_RESULT", message: /score\(\) returned a number for row 0/ },
  ],
  [
    "reward_manager",
    "holes",
    {
      create: class {
        score = () => Promise.resolve(new Array(8).fill(undefined));
      },
    },
    { code: "VERL_REWARD_RESULT", message: /score\(\) returned nothing for row 0/ },
  ],
  [
    "sampler",
    "throws",
    {
      create: class extends SequentialSampler {
        override order = fail;
      },
    },
    { code: "VERL_ENTRY_FAILED", cause: THROWN },
  ],
];

beforeAll(() => {
  registerBuiltIns();
  for (const [kind, key, entry] of FAULTS) {
    const described = { description: "Broken.", ...entry };
    (registries[kind] as Registry).register(`test-${key}`, described, { source: SOURCE });
  }
});

describe("an entry that is at fault in a step is named with its kind, key and package", () => {
  it.each(FAULTS)(
    "%s %s",
    async (kind, name, _, { message, ...expected }: { message?: RegExp }, choice = CHOICE[kind]!) => {
      const key = `test-${name}`;
      const config = ppoConfig(runFolder(), [...choice(key), "trainer.total_training_steps=1"]);
      const run = async () => (await PpoTrainer.create(config, { stream: recordingStream() })).fit();
      const error: unknown = await run().catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ location: { plugin: SOURCE }, details: { kind, key } });
      expect((error as Error).message).toMatch(`The ${kindInfo(kind).title} "${key}" of ${SOURCE} failed: `);
      if (message) expect((error as Error).message).toMatch(message);
      const { hint, ...rest } = expected as { hint?: RegExp };
      expect(error).toMatchObject(rest);
      if (hint) expect((error as { hint: string }).hint).toMatch(hint);
    },
  );
});
