import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { existsSync, readdirSync } from "node:fs";
import * as tf from "@tensorflow/tfjs";
import { readSafetensors } from "../../core/tensor/safetensors.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { sftLoss } from "../../core/trainer/sft-loss.ts";
import { SftTrainer } from "../../core/trainer/sft-trainer.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { metricsOf, timeless } from "./support/read-run.ts";
import { ppoConfig, recordingStream, runFolder, sftConfig } from "./support/tiny-run.ts";

// Graphs are compiled in the first steps, slowly on a busy machine.
jest.setTimeout(300_000);

beforeAll(registerBuiltIns);

async function fineTune(folder: string, overrides: readonly string[] = [], signal?: AbortSignal) {
  const stream = recordingStream();
  const trainer = await SftTrainer.create(sftConfig(folder, overrides), { stream, signal });
  const result = await trainer.fit();
  return { result, terminal: stream.text() };
}

const weightsOf = async (model: string) => (await readSafetensors(`${model}/model.safetensors`)).arrays;

describe("an SFT run", () => {
  it("learns the answers, validates, and leaves a model that a PPO run starts from", async () => {
    const folder = runFolder();
    const { result, terminal } = await fineTune(folder, [
      `data.val_files=${folder}/sft.jsonl`,
      "trainer.total_training_steps=30",
      "trainer.test_freq=10",
    ]);
    const steps = metricsOf(result.directory).map(({ data }) => data);
    expect(Object.keys(steps[0]!)).toEqual(
      expect.arrayContaining(["train/loss", "train/grad_norm", "train/lr", "train/global_tokens", "training/epoch"]),
    );
    expect(steps[0]!["train/loss"]).toBeGreaterThan(3);
    expect(steps[29]!["train/loss"]).toBeLessThan(2.6);
    expect(result.validation["val/loss"]).toBeLessThan(steps[9]!["val/loss"]!);
    expect(terminal).toContain("Done: 30 of 30 steps.");
    expect(readdirSync(result.model!).sort()).toEqual([
      "config.json",
      "model.safetensors",
      "tokenizer.json",
      "tokenizer_config.json",
    ]);

    const next = ppoConfig(folder, [`actor_rollout_ref.model.path=${result.model}`, "trainer.total_training_steps=1"]);
    const stream = recordingStream();
    await (await PpoTrainer.create(next, { stream })).fit();
    expect(stream.text()).not.toContain("random weights");
  });

  it("is refused where it counts on more machines than its transport has", async () => {
    await expect(fineTune(runFolder(), ["trainer.nnodes=2", "data.micro_batch_size_per_gpu=2"])).rejects.toMatchObject({
      code: "VERL_CONFIG_VALUE",
      location: { path: "trainer.nnodes" },
    });
  });

  it("warns once when it is to validate and has nothing to validate on", async () => {
    const told = (terminal: string) => terminal.match(/.*nothing is validated.*/g);
    const { terminal } = await fineTune(runFolder(), ["trainer.total_training_steps=2", "trainer.test_freq=1"]);
    expect(told(terminal)).toEqual([
      expect.stringContaining("trainer.test_freq is 1, but data.val_files names no file: nothing is validated."),
    ]);
    const quiet = await fineTune(runFolder(), ["trainer.total_training_steps=1"]);
    expect(told(quiet.terminal)).toBeNull();
  });

  it("follows the cosine down to its floor after the warm-up", async () => {
    const { result } = await fineTune(runFolder(), [
      "trainer.total_training_steps=6",
      "optim.lr_warmup_steps=2",
      "optim.min_lr_ratio=0.1",
    ]);
    const rates = metricsOf(result.directory).map(({ data }) => data["train/lr"]!);
    expect(rates[0]).toBe(0);
    expect(rates[1]).toBeCloseTo(0.005);
    expect(rates[2]).toBeCloseTo(0.01);
    for (const step of [3, 4, 5]) expect(rates[step]).toBeLessThan(rates[step - 1]!);
    expect(rates[5]).toBeGreaterThan(0.001);
  });

  it("trains the same in micro-batches", async () => {
    const overrides = ["trainer.total_training_steps=2", "optim.eps=0.1"];
    const whole = await fineTune(runFolder(), overrides);
    const parts = await fineTune(runFolder(), [...overrides, "data.micro_batch_size_per_gpu=1"]);
    const expected = await weightsOf(whole.result.model!);
    for (const [name, { data }] of await weightsOf(parts.result.model!)) {
      const other = expected.get(name)!.data as Float32Array;
      const gap = (data as Float32Array).reduce((most, value, at) => Math.max(most, Math.abs(value - other[at]!)), 0);
      expect(gap).toBeLessThan(1e-6);
    }
  });

  it("trains the same on packed rows", async () => {
    const overrides = ["trainer.total_training_steps=2", "optim.eps=0.1", "data.max_length=16"];
    const whole = await fineTune(runFolder(), overrides);
    const packed = await fineTune(runFolder(), [...overrides, "data.packing=true"]);
    const [one, other] = [whole, packed].map(({ result }) => metricsOf(result.directory).at(-1)!.data);
    expect(other!["train/global_tokens"]).toBe(one!["train/global_tokens"]);
    expect(other!["train/loss"]).toBeCloseTo(one!["train/loss"]!, 5);
    expect(other!["train/grad_norm"]).toBeCloseTo(one!["train/grad_norm"]!, 4);
  });

  it("stops when asked, and resumes as if it had not stopped", async () => {
    const whole = await fineTune(runFolder(), ["trainer.save_freq=2"]);
    const folder = runFolder();
    const stopped = await fineTune(folder, ["trainer.save_freq=2"], AbortSignal.abort());
    expect(stopped.result).toMatchObject({ step: 0, interrupted: true, model: undefined });
    expect(existsSync(`${folder}/sft/huggingface`)).toBe(false);
    // Four steps with a checkpoint at two: the rest is run again.
    await fineTune(folder, ["trainer.total_training_steps=4", "trainer.save_freq=2"]);
    const path = `${folder}/sft/global_step_2`;
    const again = await fineTune(folder, [
      "trainer.resume_mode=resume_path",
      `trainer.resume_from_path=${path}`,
      `trainer.default_local_dir=${folder}/again`,
    ]);
    expect(metricsOf(`${folder}/again`).map(timeless)).toEqual(
      metricsOf(whole.result.directory).slice(2).map(timeless),
    );
    expect(await weightsOf(again.result.model!)).toEqual(await weightsOf(whole.result.model!));
  });
});

describe("sftLoss", () => {
  it("averages over the trained tokens of the step, and nothing behind the mask counts", () => {
    const loss = sftLoss(3);
    const log_probs = tf.tensor2d([
      [-1, NaN],
      [-2, -4],
    ]);
    const response_mask = tf.tensor2d([
      [1, 0],
      [1, 0],
    ]);
    expect(loss.compute({ log_probs, fields: { response_mask } }).loss.arraySync()).toBeCloseTo(1);
    const gradient = tf.grad((x) => loss.compute({ log_probs: x as tf.Tensor2D, fields: { response_mask } }).loss)(
      log_probs,
    );
    expect(Array.from(gradient.dataSync())).toEqual([-1 / 3, 0, -1 / 3, 0].map(Math.fround));
  });
});
