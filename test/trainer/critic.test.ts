import { beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { createRunContainer, registries } from "../../core/registry/index.ts";
import { readSafetensors } from "../../core/tensor/safetensors.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { CriticWorker } from "../../core/trainer/workers/critic-worker.ts";
import { gae } from "../../plugins/advantage/gae.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { metricsOf, timeless } from "./support/read-run.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

let stopAt = Infinity;
let stop = new AbortController();
let alive: number[] = [];
/** What the engine `test-recording` was given to train on. */
let trainedOn: DataProto[] = [];

const unasked = (): Promise<never> => Promise.reject(new Error("These tests never ask for it."));

beforeAll(() => {
  registerBuiltIns();
  registries.adv_estimator.register("test-gae", gae);
  registries.tracker.register("test-watch", {
    description: "Counts tensors, and asks the run to stop.",
    create: class {
      log(_metrics: object, step: number): void {
        alive.push(tf.memory().numTensors);
        if (step === stopAt) stop.abort();
      }
    },
  });
  registries.engine.register("test-recording", {
    description: "Says 7 of every token and keeps what it is trained on.",
    create: class {
      forward = (batch: DataProto) => {
        const values = NdArray.zeros("float32", batch.tensor("responses").shape);
        values.data.fill(7);
        return Promise.resolve({ values });
      };
      forwardBackward = (batch: DataProto) => {
        trainedOn.push(batch);
        return Promise.resolve({ loss: 0, metrics: {} });
      };
      optimStep = () => Promise.resolve({ gradNorm: 0, lr: 0, skipped: false });
      saveState = unasked;
      loadState = unasked;
      exportWeights = unasked;
      savePretrained = unasked;
      dispose = () => {};
    } as never,
  });
});
beforeEach(() => {
  [stopAt, stop, alive, trainedOn] = [Infinity, new AbortController(), [], []];
});

const CRITIC = ["algorithm.adv_estimator=test-gae", "critic.optim.lr=0.01", "trainer.logger=[test-watch]"];

async function train(folder: string, overrides: readonly string[] = []) {
  const stream = recordingStream();
  stop = new AbortController();
  const options = { stream, signal: stop.signal };
  const trainer = await PpoTrainer.create(ppoConfig(folder, [...CRITIC, ...overrides]), options);
  const result = await trainer.fit();
  return { result, terminal: stream.text(), steps: metricsOf(result.directory) };
}

const weightsOf = async (model: string) => (await readSafetensors(`${model}/model.safetensors`)).arrays;

describe("a run with a critic", () => {
  it("estimates values, learns from returns, and reports verl's metrics", async () => {
    const { steps } = await train(runFolder(), ["trainer.total_training_steps=5"]);
    for (const { data } of steps) {
      const timers = Object.keys(data).filter((name) => name.startsWith("timing_s/"));
      const order = ["gen", "reward", "old_log_prob", "values", "adv", "update_critic", "update_actor"];
      expect(timers.filter((name) => order.includes(name.slice("timing_s/".length)))).toEqual(
        order.map((name) => `timing_s/${name}`),
      );
      for (const name of ["vf_loss", "vf_clipfrac", "vpred_mean", "grad_norm", "lr", "vf_explained_var"]) {
        expect(data).toHaveProperty([`critic/${name}`], expect.any(Number));
      }
    }
    const [first, last] = [steps[0]!.data, steps[4]!.data];
    // The head starts at zero, so the first loss is half the mean square of the returns.
    expect(first).toMatchObject({ "critic/values/max": 0, "critic/values/min": 0, "critic/vpred_mean": 0 });
    expect(first["critic/lr"]).toBe(0.01);
    expect(last["critic/values/mean"]).toBeGreaterThan(0);
    expect(last["critic/vf_loss"]).toBeLessThan(first["critic/vf_loss"]!);
    expect(new Set(alive.slice(1)).size).toBe(1);
  });

  it("[B-32] trains the critic alone before step `critic_warmup`, and goes on sampling", async () => {
    const { steps } = await train(runFolder(), ["trainer.critic_warmup=3"]);
    expect(steps.map(({ data }) => "actor/pg_loss" in data)).toEqual([false, false, true]);
    expect(steps.map(({ data }) => "critic/vf_loss" in data)).toEqual([true, true, true]);
    expect(steps[1]!.data["critic/values/mean"]).not.toBe(0);
    for (const { data } of steps) expect(data["training/rollout_logprobs_diff_max"]).toBeLessThan(1e-4);
  });

  it("resumes as if it had not stopped, to the bit", async () => {
    const overrides = ["trainer.total_training_steps=4", "critic.ppo_epochs=2", "algorithm.use_pf_ppo=true"];
    const saving = [
      ...overrides,
      "trainer.save_freq=2",
      "critic.checkpoint.save_contents=[model, optimizer, extra, hf_model]",
    ];
    const whole = await train(runFolder(), saving);
    const folder = runFolder();
    stopAt = 2;
    await train(folder, saving);
    stopAt = Infinity;
    const { result, steps } = await train(folder, saving);
    expect(steps.map(timeless)).toEqual(whole.steps.map(timeless));
    const critics = [whole.result, result].map(({ checkpoint }) => weightsOf(`${checkpoint}/critic/huggingface`));
    expect(await critics[1]).toEqual(await critics[0]);
    expect([...(await critics[0]!).keys()]).toContain("score.weight");
  });

  it("warns when the checkpoint has no critic", async () => {
    const folder = runFolder();
    await train(folder, ["algorithm.adv_estimator=test-centred", "trainer.save_freq=3"]);
    const { terminal } = await train(folder, ["trainer.total_training_steps=4"]);
    expect(terminal).toContain("The checkpoint has no critic");
  });

  it("trains the critic the same however a mini-batch is cut", async () => {
    // A large eps keeps Adam from blowing rounding up to whole steps where a gradient is almost nothing.
    const cut = (cutting: string) =>
      train(runFolder(), ["trainer.total_training_steps=2", "critic.optim.eps=0.1", `critic.${cutting}`]);
    const whole = await cut("ppo_micro_batch_size_per_gpu=8");
    const parts = await cut("ppo_micro_batch_size_per_gpu=2");
    for (const [step, { data }] of whole.steps.entries()) {
      for (const name of Object.keys(data).filter((name) => name.startsWith("critic/"))) {
        expect([name, parts.steps[step]!.data[name]]).toEqual([name, expect.closeTo(data[name]!, 4)]);
      }
    }
  });

  it("is refused where values are needed and the critic is off", async () => {
    await expect(train(runFolder(), ["critic.enable=false"])).rejects.toMatchObject({
      code: "VERL_FIELD_MISSING",
      hint: expect.stringContaining("critic.enable=true"),
    });
  });

  it("trains a critic beside an estimator that has no use for it when told to", async () => {
    const { steps } = await train(runFolder(), ["algorithm.adv_estimator=test-centred", "critic.enable=true"]);
    expect(steps[2]!.data).toHaveProperty(["critic/vf_loss"]);
  });
});

describe("resampling by score", () => {
  it("trains on rows drawn by their score, and reports what was sampled", async () => {
    const one = ["trainer.total_training_steps=1"];
    const [plain, drawn] = [
      (await train(runFolder(), one)).steps[0]!.data,
      (await train(runFolder(), [...one, "algorithm.use_pf_ppo=true"])).steps[0]!.data,
    ];
    expect(plain).not.toHaveProperty(["pf_ppo/distinct_fraction"]);
    expect(drawn["pf_ppo/distinct_fraction"]).toBeLessThan(1);
    expect(drawn["critic/score/mean"]).toBe(plain["critic/score/mean"]);
    expect(drawn["critic/vf_loss"]).not.toBe(plain["critic/vf_loss"]);
  });
});

describe("CriticWorker", () => {
  const matrix = (dtype: "int32" | "float32", rows: readonly (readonly number[])[]) =>
    dtype === "int32"
      ? new NdArray("int32", [rows.length, rows[0]!.length], Int32Array.from(rows.flat()))
      : new NdArray("float32", [rows.length, rows[0]!.length], Float32Array.from(rows.flat()));

  const batch = DataProto.fromSingleDict({
    input_ids: matrix("int32", [
      [1, 2, 3],
      [1, 2, 3],
    ]),
    attention_mask: matrix("int32", [
      [1, 1, 1],
      [1, 1, 1],
    ]),
    position_ids: matrix("int32", [
      [0, 1, 2],
      [0, 1, 2],
    ]),
    responses: matrix("int32", [
      [2, 3],
      [2, 3],
    ]),
    response_mask: matrix("int32", [
      [1, 0],
      [1, 1],
    ]),
    values: matrix("float32", [
      [7, 0],
      [7, 7],
    ]),
    returns: matrix("float32", [
      [1, 0],
      [0, 0],
    ]),
    unscored: new NdArray("uint8", [2], Uint8Array.from([0, 1])),
  });

  const critic = async () => {
    const config = ppoConfig(runFolder(), [
      ...CRITIC,
      "critic.strategy=test-recording",
      "data.train_batch_size=1",
      "actor_rollout_ref.actor.ppo_mini_batch_size=1",
      "actor_rollout_ref.rollout.n=2",
    ]);
    const local = { container: createRunContainer({}) };
    const group = await WorkerGroup.create(CriticWorker, [{ config, directory: ".", steps: 1 }], { local });
    await group.initModel();
    return group;
  };

  it("[case 56] says 0 where the response mask is 0", async () => {
    const group = await critic();
    expect(Array.from((await group.computeValues(batch)).tensor("values", "float32").data)).toEqual([7, 0, 7, 7]);
  });

  it("learns nothing from rows without a score", async () => {
    const group = await critic();
    await group.updateCritic(batch, { step: 1 });
    const seen = trainedOn.flatMap((micro) => Array.from(micro.tensor("response_mask").data, Number));
    expect(seen).toEqual([1, 0, 0, 0]);
  });
});
