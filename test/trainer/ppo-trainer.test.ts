import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import * as tf from "@tensorflow/tfjs";
import { registries } from "../../core/registry/index.ts";
import { readSafetensors } from "../../core/tensor/safetensors.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { centred, policyGradient } from "./support/algorithms.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { metricsOf, timeless } from "./support/read-run.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

// Graphs are compiled in the first steps, slowly on a busy machine.
jest.setTimeout(300_000);

/** Aborted by the tracker `test-stop` when this step is logged. */
let stopAt = Infinity;
let stop = new AbortController();
/** Tensors alive whenever `test-stop` was called. */
let alive: number[] = [];

/** Σ over rows of a dataset column times the row's reward: it tells rows that got mixed up. */
const jointSum = (weights: readonly number[], rewards: readonly number[]): number =>
  weights.reduce((sum, weight, row) => sum + weight * rewards[row]!, 0);

beforeAll(() => {
  registerBuiltIns();
  registries.tracker.register("test-stop", {
    description: "Asks the run to stop.",
    create: class {
      log(_metrics: object, step: number): void {
        alive.push(tf.memory().numTensors);
        if (step === stopAt) stop.abort();
      }
    },
  });
  registries.adv_estimator.register("test-weighted", {
    ...centred,
    requires: ["weight"],
    compute(input, config, ctx) {
      const rewards = input.uid.map((_, row) => input.token_level_rewards.row(row).data.reduce((a, b) => a + b, 0));
      ctx.metric("test/estimator_sum", jointSum(input.weight as number[], rewards));
      return centred.compute(input, config, ctx);
    },
  });
  registries.policy_loss.register("test-weighted", {
    ...policyGradient,
    requires: ["token_level_rewards"],
    compute(input, config, agg) {
      const { loss, metrics } = policyGradient.compute(input, config, agg);
      const perRow = tf.sum(input.token_level_rewards!, 1);
      return { loss, metrics: { ...metrics, "test/loss_sum": tf.sum(tf.mul(perRow, input.weight!)) } };
    },
  });
});

async function train(folder: string, overrides: readonly string[] = []) {
  const stream = recordingStream();
  stop = new AbortController();
  const trainer = await PpoTrainer.create(ppoConfig(folder, overrides), { stream, signal: stop.signal });
  const result = await trainer.fit();
  return { result, terminal: stream.text(), steps: metricsOf(result.directory) };
}

const weightsOf = async (model: string) => (await readSafetensors(`${model}/model.safetensors`)).arrays;

describe("a PPO run", () => {
  it("goes through verl's phases in verl's order and reports verl's metrics", async () => {
    const folder = runFolder();
    const { result, terminal, steps } = await train(folder, [
      "data.val_files=" + `${folder}/val.jsonl`,
      "trainer.val_before_train=true",
      "trainer.test_freq=2",
      "trainer.save_freq=3",
      "actor_rollout_ref.actor.checkpoint.save_contents=[model, optimizer, extra, hf_model]",
      "actor_rollout_ref.actor.use_kl_loss=true",
      "trainer.log_val_generations=2",
      "actor_rollout_ref.rollout.val_kwargs.n=2",
      "actor_rollout_ref.rollout.val_kwargs.do_sample=true",
      "actor_rollout_ref.rollout.val_kwargs.temperature=1",
    ]);
    expect(result).toMatchObject({ step: 3, total: 3, interrupted: false });
    expect(steps.map(({ step }) => step)).toEqual([0, 1, 2, 3]);
    const [before, , second, last] = steps.map(({ data }) => data);
    const timers = Object.keys(last!).filter((name) => name.startsWith("timing_s/"));
    expect(timers).toEqual(
      [
        "gen",
        "reward",
        "old_log_prob",
        "ref",
        "adv",
        "update_actor",
        "update_weights",
        "dump_rollout_generations",
        "step",
        "testing",
        "save_checkpoint",
      ].map((name) => `timing_s/${name}`),
    );
    const names = [
      "actor/entropy",
      "actor/grad_norm",
      "actor/kl_coef",
      "actor/kl_loss",
      "actor/loss",
      "actor/lr",
      "actor/pg_loss",
      "actor/ppo_kl",
      "critic/advantages/mean",
      "critic/rewards/mean",
      "critic/score/mean",
      "global_seqlen/mean",
      "perf/throughput",
      "prompt_length/mean",
      "response_length/mean",
      "reward/long/mean",
      "training/epoch",
      "training/global_step",
      "training/rollout_logprobs_diff_max",
      "training/rollout_probs_diff_mean",
    ];
    expect(Object.keys(last!)).toEqual(expect.arrayContaining(names));
    for (const data of [before!, second!, last!]) expect(data).toHaveProperty(["val-core/letters/reward/best@2/mean"]);
    expect(result.validation).toHaveProperty(["val-aux/num_turns/mean"], 2);
    expect(last!["training/rollout_logprobs_diff_max"]).toBeLessThan(1e-4);
    expect(existsSync(result.report!)).toBe(true);
    const inCheckpoint = await weightsOf(`${result.directory}/global_step_3/actor/huggingface`);
    expect(inCheckpoint).toEqual(await weightsOf(result.model!));
    expect(terminal).toContain("Done: 3 of 3 steps.");
    // Two answers at each of the three validations.
    expect(terminal.match(/^ {2}\w+ → .*\(\d/gm)).toHaveLength(6);
  });

  it("gives the same run for the same seed and another for another", async () => {
    const [one, same, other] = [
      await train(runFolder(), ["trainer.total_training_steps=2"]),
      await train(runFolder(), ["trainer.total_training_steps=2"]),
      await train(runFolder(), ["trainer.total_training_steps=2", "trainer.seed=1"]),
    ];
    expect(same.steps.map(timeless)).toEqual(one.steps.map(timeless));
    expect(other.steps.map(timeless)).not.toEqual(one.steps.map(timeless));
    expect(await weightsOf(same.result.model!)).toEqual(await weightsOf(one.result.model!));
  });

  it("resumes as if it had not stopped: same samples, same metrics to the bit, across the end of an epoch", async () => {
    const overrides = [
      "trainer.total_training_steps=5",
      "trainer.save_freq=10",
      "trainer.logger=[test-stop]",
      "actor_rollout_ref.actor.shuffle=true",
      "actor_rollout_ref.actor.ppo_mini_batch_size=1",
      "algorithm.use_kl_in_reward=true",
      "algorithm.kl_ctrl.type=adaptive",
      "algorithm.kl_ctrl.horizon=50",
    ];
    stopAt = Infinity;
    const whole = await train(runFolder(), overrides);
    const folder = runFolder();
    stopAt = 1;
    const first = await train(folder, [...overrides, "trainer.save_freq=1"]);
    expect(first.result).toMatchObject({ step: 1, interrupted: true });
    expect(first.terminal).toContain("run the same command again");
    // Three steps are an epoch.
    stopAt = 3;
    expect((await train(folder, [...overrides, "trainer.save_freq=1"])).result).toMatchObject({ step: 3 });
    stopAt = Infinity;
    const { result, terminal, steps } = await train(folder, overrides);
    expect(terminal).toContain("Resuming after step 3");
    expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5]);
    expect(steps.map(timeless)).toEqual(whole.steps.map(timeless));
    expect(await weightsOf(result.model!)).toEqual(await weightsOf(whole.result.model!));
    const samples = (run: string) => readFileSync(`${run}/rollouts.jsonl`, "utf8");
    expect(samples(result.directory)).toBe(samples(whole.result.directory));
  });

  it("trains the same however a mini-batch is cut", async () => {
    // A large eps keeps Adam from blowing rounding up to whole steps where a gradient is almost nothing.
    const common = [
      "trainer.total_training_steps=2",
      "actor_rollout_ref.actor.optim.eps=0.1",
      "actor_rollout_ref.actor.entropy_coeff=0.1",
      "actor_rollout_ref.actor.use_kl_loss=true",
    ];
    const cut = (cutting: string) => train(runFolder(), [...common, `actor_rollout_ref.actor.${cutting}`]);
    const whole = await cut("ppo_micro_batch_size_per_gpu=8");
    for (const cutting of [
      "ppo_micro_batch_size_per_gpu=2",
      "ppo_micro_batch_size_per_gpu=1",
      "use_dynamic_bsz=true",
    ]) {
      const tokens = cutting.startsWith("use") ? ["actor_rollout_ref.actor.ppo_max_token_len_per_gpu=30"] : [];
      const parts = await train(runFolder(), [...common, `actor_rollout_ref.actor.${cutting}`, ...tokens]);
      for (const [step, logged] of parts.steps.entries()) {
        for (const [name, value] of Object.entries(timeless(logged))) {
          expect([name, value]).toEqual([name, expect.closeTo(whole.steps[step]!.data[name]!, 5)]);
        }
      }
      const expected = await weightsOf(whole.result.model!);
      for (const [name, { data }] of await weightsOf(parts.result.model!)) {
        const other = expected.get(name)!.data as Float32Array;
        const gap = (data as Float32Array).reduce((most, value, at) => Math.max(most, Math.abs(value - other[at]!)), 0);
        expect(gap).toBeLessThan(1e-6);
      }
    }
  });

  it("adds entropy bonus and KL to the loss, and reports the policy loss without them", async () => {
    const { steps } = await train(runFolder(), [
      "actor_rollout_ref.actor.entropy_coeff=0.3",
      "actor_rollout_ref.actor.use_kl_loss=true",
      "actor_rollout_ref.actor.kl_loss_coef=0.7",
    ]);
    for (const { data } of steps) {
      const expected = data["actor/pg_loss"]! - 0.3 * data["actor/entropy_loss"]! + 0.7 * data["actor/kl_loss"]!;
      expect(data["actor/loss"]).toBeCloseTo(expected, 5);
    }
    // The reference is the actor as it was, so only later steps have a KL.
    expect(steps[0]!.data["actor/kl_loss"]).toBeCloseTo(0, 6);
    expect(Math.abs(steps[2]!.data["actor/kl_loss"]!)).toBeGreaterThan(1e-4);
  });

  it("takes a KL penalty off the reward", async () => {
    const { steps } = await train(runFolder(), ["algorithm.use_kl_in_reward=true", "algorithm.kl_ctrl.kl_coef=0.5"]);
    const { data } = steps[2]!;
    expect(data["actor/reward_kl_penalty_coeff"]).toBe(0.5);
    expect(Math.abs(data["actor/reward_kl_penalty"]!)).toBeGreaterThan(1e-4);
    // All responses are of full length here, so the mean over rows of the summed penalty is the mean penalty times the length.
    expect(data["response_length/min"]).toBe(5);
    const expected = data["critic/score/mean"]! - 0.5 * data["actor/reward_kl_penalty"]! * 5;
    expect(data["critic/rewards/mean"]).toBeCloseTo(expected, 5);
  });

  it("takes the sampler's log-probs as the old ones when told to, and still measures the gap", async () => {
    const { steps } = await train(runFolder(), ["actor_rollout_ref.actor.use_rollout_log_probs=true"]);
    const { data } = steps[0]!;
    expect(data["training/rollout_logprobs_diff_max"]).toBeGreaterThan(0);
    expect(data["training/rollout_logprobs_diff_max"]).toBeLessThan(1e-4);
    expect(data).toHaveProperty(["actor/entropy"]);
    // The first update starts from what was sampled: the ratio differs from 1 by that gap alone.
    expect(Math.abs(data["actor/ppo_kl"]!)).toBeLessThan(1e-5);
  });

  it("scores beside the log-probs when asked to, with the same result", async () => {
    const [one, other] = [
      await train(runFolder(), ["trainer.total_training_steps=2"]),
      await train(runFolder(), ["trainer.total_training_steps=2", "reward_model.launch_reward_fn_async=true"]),
    ];
    expect(other.steps.map(timeless)).toEqual(one.steps.map(timeless));
  });

  it("keeps no tensor from one step to the next", async () => {
    alive = [];
    await train(runFolder(), [
      "trainer.total_training_steps=4",
      "trainer.logger=[test-stop]",
      "actor_rollout_ref.actor.use_kl_loss=true",
      "algorithm.use_kl_in_reward=true",
    ]);
    expect(new Set(alive.slice(1)).size).toBe(1);
  });

  it("hands selected fields to the loss row for row, through shuffling and splitting", async () => {
    const { steps } = await train(runFolder(), [
      "algorithm.adv_estimator=test-weighted",
      "actor_rollout_ref.actor.policy_loss.loss_mode=test-weighted",
      "actor_rollout_ref.actor.select_keys=[weight]",
      "actor_rollout_ref.actor.shuffle=true",
      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2",
    ]);
    for (const { data } of steps) {
      expect(data["test/estimator_sum"]).not.toBe(0);
      expect(data["test/loss_sum"]).toBeCloseTo(data["test/estimator_sum"]!, 4);
    }
  });
});

describe("a run that only validates", () => {
  it("scores the validation answers and trains nothing", async () => {
    const folder = runFolder();
    const { result, steps } = await train(folder, [`data.val_files=${folder}/val.jsonl`, "trainer.val_only=true"]);
    expect(steps.map(({ step }) => step)).toEqual([0]);
    expect(result).toMatchObject({ step: 0, interrupted: false, model: undefined });
    expect(result.validation).toHaveProperty(["val-core/letters/reward/mean@1"]);
  });
});

describe("a PPO run that cannot be", () => {
  const refusal = async (overrides: readonly string[], folder = runFolder()) => {
    const run = train(folder, overrides);
    return (await run.then(
      () => undefined,
      (error: unknown) => error,
    )) as { code: string; message: string; hint: string } | undefined;
  };

  it.each([
    ["one answer a prompt for an estimator of groups", ["actor_rollout_ref.rollout.n=1"], "VERL_TRAIN_NEEDS_GROUPS"],
    ["several machines on a transport that has one", ["trainer.nnodes=2"], "VERL_CONFIG_VALUE"],
    ["a generation batch of another size", ["data.gen_batch_size=4"], "VERL_TRAIN_UNAVAILABLE"],
    [
      "a rejection rule that does not exist",
      ["algorithm.rollout_correction.rollout_rs=token_k9"],
      "VERL_ALGORITHM_CONFIG",
    ],
    [
      "a selected field that another option supplies",
      ["actor_rollout_ref.actor.select_keys=[ref_log_prob]"],
      "VERL_FIELD_MISSING",
    ],
    [
      "a selected field that nothing supplies",
      ["actor_rollout_ref.actor.select_keys=[nonsense]"],
      "VERL_FIELD_MISSING",
    ],
    ["a selected column of text", ["actor_rollout_ref.actor.select_keys=[data_source]"], "VERL_DATA_COLUMN_TYPE"],
    ["validation alone without validation data", ["trainer.val_only=true"], "VERL_DATA_EMPTY"],
    ["a batch larger than the data", ["data.train_batch_size=8"], "VERL_DATA_EMPTY"],
    ["a reward file that is not there", ["custom_reward_function.path=nowhere.ts"], "VERL_REWARD_FUNCTION_FILE"],
  ])("is refused: %s", async (_what, overrides, code) => {
    expect(await refusal(overrides)).toMatchObject({ code });
  });

  it("is refused: a column with the name of a field", async () => {
    const folder = runFolder();
    const row = { data_source: "letters", prompt: [{ role: "user", content: "ab" }], responses: ["c"] };
    writeFileSync(`${folder}/train.jsonl`, `${JSON.stringify(row)}\n`.repeat(2));
    const error = await refusal([], folder);
    expect(error).toMatchObject({ code: "VERL_BATCH_CONFLICT", message: expect.stringContaining(`"responses"`) });
  });

  it("tells which option would supply a missing field", async () => {
    const error = await refusal(["actor_rollout_ref.actor.select_keys=[ref_log_prob]"]);
    expect(error!.hint).toContain("actor_rollout_ref.actor.use_kl_loss=true");
  });

  it("refuses to register an entry while a run is under way", async () => {
    registries.tracker.register("test-late", {
      description: "Registers in the middle of a run.",
      create: class {
        log(): void {
          registries.loss_agg.register("late", { description: "Late.", aggregate: (matrix) => tf.sum(matrix) });
        }
      },
    });
    const { terminal } = await train(runFolder(), ["trainer.total_training_steps=1", "trainer.logger=[test-late]"]);
    expect(terminal).toContain("registries are frozen");
  });

  it("stops when the reward fails for too many answers, and says why", async () => {
    const folder = runFolder();
    writeFileSync(
      `${folder}/reward.mjs`,
      `export const compute_score = () => { throw new TypeError("no such key"); };`,
    );
    const error = await refusal([], folder);
    expect(error).toMatchObject({ code: "VERL_REWARD_UNSCORED" });
    expect(error!.message).toContain("no such key");
  });

  it("stops when the loss is not finite, and leaves the last checkpoint", async () => {
    registries.policy_loss.register("test-nan", {
      ...policyGradient,
      compute(input, config, agg) {
        const { loss } = policyGradient.compute(input, config, agg);
        return { loss: tf.log(tf.neg(tf.abs(tf.add(loss, 1)))), metrics: {} };
      },
    });
    const folder = runFolder();
    await train(folder, ["trainer.total_training_steps=1", "trainer.save_freq=1"]);
    const error = await refusal(
      ["actor_rollout_ref.actor.policy_loss.loss_mode=test-nan", "trainer.total_training_steps=2"],
      folder,
    );
    expect(error).toMatchObject({ code: "VERL_ENGINE_NOT_FINITE" });
    expect((await train(folder, ["trainer.total_training_steps=2"])).terminal).toContain("Resuming after step 1");
  });
});
