import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { SftTrainer } from "../../core/trainer/sft-trainer.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { metricsOf } from "./support/read-run.ts";
import { ppoConfig, recordingStream, runFolder, sftConfig } from "./support/tiny-run.ts";

// Graphs are compiled in the first steps, slowly on a busy machine.
jest.setTimeout(300_000);

beforeAll(registerBuiltIns);

/** Draws the rows backwards after each step, and counts the steps. */
const SAMPLER = `export class Backwards {
  steps = 0;
  order(epoch, length) { return Int32Array.from({ length }, (_, row) => (row + epoch) % length); }
  update(batch) { if (batch.length !== 8) throw new Error("odd batch"); this.steps += 1; }
  reorder(rest) { return this.steps % 2 === 1 ? rest.reverse() : rest; }
  saveState() { return this.steps; }
  loadState(steps) { this.steps = steps; }
}`;

/** A dataset of the user's: the same prompt over and over. */
const DATASET = `export class Constant {
  stats = {};
  length = 4;
  async load() {}
  promptIds() { return Int32Array.of(1, 5, 3); }
  row(index) { return { data_source: "letters", raw_prompt: [{ role: "user", content: "a" }], reward_model: {}, extra_info: {}, index, weight: 1 }; }
}`;

/** One new problem a step. */
const GENERATOR = `export class Grow {
  generate({ step }) {
    return [{ data_source: "letters", prompt: [{ role: "user", content: "abcdefgh"[step] }], reward_model: { ground_truth: "x" }, weight: step }];
  }
}`;

async function train(folder: string, overrides: readonly string[]) {
  writeFileSync(`${folder}/sampler.mjs`, SAMPLER);
  writeFileSync(`${folder}/dataset.mjs`, DATASET);
  writeFileSync(`${folder}/generator.mjs`, GENERATOR);
  const trainer = await PpoTrainer.create(ppoConfig(folder, overrides), { stream: recordingStream() });
  return trainer.fit();
}

/** The prompts of each step. */
function promptsOf(folder: string): string[][] {
  const lines = readFileSync(`${folder}/run/rollouts.jsonl`, "utf8").trim().split("\n");
  const steps: string[][] = [];
  for (const line of lines) {
    const { step, input } = JSON.parse(line) as { step: number; input: string };
    (steps[step - 1] ??= []).push(input);
  }
  return steps.map((prompts) => [...new Set(prompts)]);
}

/** What was drawn and what was learned from it. */
const record = (folder: string) => ({
  metrics: metricsOf(`${folder}/run`).map(({ step, data }) => ({
    step,
    data: Object.fromEntries(Object.entries(data).filter(([name]) => /^(actor|critic|training)\//.test(name))),
  })),
  prompts: promptsOf(folder),
});

/** Trains five steps at once, and three and two. */
async function bothWays(overrides: (folder: string) => string[]) {
  const [whole, cut] = [runFolder(), runFolder()];
  await train(whole, [...overrides(whole), "trainer.total_training_steps=5"]);
  await train(cut, [...overrides(cut), "trainer.total_training_steps=3", "trainer.save_freq=3"]);
  await train(cut, [...overrides(cut), "trainer.total_training_steps=5", "trainer.save_freq=3"]);
  return { whole: record(whole), resumed: record(cut) };
}

describe("data that the config names by file", () => {
  it("draws as a sampler of the user's says, after a resume too", async () => {
    const { whole, resumed } = await bothWays((folder) => [`data.sampler.class_path=${folder}/sampler.mjs`]);
    expect(whole.prompts.map((prompts) => prompts.length)).toEqual([2, 2, 2, 2, 2]);
    expect(resumed).toEqual(whole);
  });

  it("adds the rows of a generator, and has them back after a resume", async () => {
    const { whole, resumed } = await bothWays((folder) => [
      `data.datagen.path=${folder}/generator.mjs`,
      "data.train_max_samples=2",
      "data.shuffle=false",
    ]);
    expect(whole.prompts.flat().some((prompt) => prompt.includes("b"))).toBe(true);
    expect(resumed).toEqual(whole);
  });

  it("trains on a dataset of the user's", async () => {
    const folder = runFolder();
    const result = await train(folder, [`data.custom_cls.path=${folder}/dataset.mjs`]);
    expect(result.step).toBe(3);
    expect(new Set(promptsOf(folder).flat()).size).toBe(1);
  });

  it("draws easy prompts first by the sampler curriculum", async () => {
    const folder = runFolder();
    await train(folder, [
      "data.sampler.name=curriculum",
      "data.sampler.kwargs={column: weight, start: 0.34, target: 2}",
    ]);
    const first = readFileSync(`${folder}/train.jsonl`, "utf8")
      .split("\n")
      .map((line) => (JSON.parse(line) as { prompt: { content: string }[] }).prompt[0]!.content);
    const [drawn] = promptsOf(folder);
    expect(drawn!.every((prompt) => first.slice(0, 3).some((content) => prompt.includes(content)))).toBe(true);
  });

  it("fine-tunes on conversations of a class of the user's", async () => {
    const folder = runFolder();
    writeFileSync(
      `${folder}/chats.mjs`,
      `export class Chats {
        stats = { "data/rows": 4 };
        length = 4;
        async load() {}
        example() { return { ids: Int32Array.of(1, 5, 3, 6, 2), lossMask: Uint8Array.of(0, 0, 0, 1, 1) }; }
      }`,
    );
    const config = sftConfig(folder, [`data.custom_cls.path=${folder}/chats.mjs`, "trainer.total_training_steps=1"]);
    const result = await (await SftTrainer.create(config, { stream: recordingStream() })).fit();
    expect(metricsOf(result.directory)[0]!.data).toMatchObject({ "data/rows": 4, "train/global_tokens": 8 });
    const wrong = sftConfig(folder, [`data.custom_cls.path=${folder}/dataset.mjs`]);
    writeFileSync(`${folder}/dataset.mjs`, DATASET);
    await expect(SftTrainer.create(wrong, { stream: recordingStream() })).rejects.toMatchObject({
      code: "VERL_DATA_CUSTOM_CLASS",
    });
  });

  it("refuses a sampler without its methods", async () => {
    const folder = runFolder();
    const override = [`data.sampler.class_path=${folder}/dataset.mjs`];
    await expect(train(folder, override)).rejects.toMatchObject({ code: "VERL_DATA_CUSTOM_CLASS" });
  });

  it("shuffles validation prompts when asked to, in another order each time", async () => {
    const order = async (overrides: readonly string[]): Promise<string[][]> => {
      const folder = runFolder();
      await train(folder, [
        `data.val_files=${folder}/train.jsonl`,
        "trainer.test_freq=1",
        `trainer.validation_data_dir=${folder}/val`,
        ...overrides,
      ]);
      const prompts = (step: number) =>
        readFileSync(`${folder}/val/${step}.jsonl`, "utf8")
          .trim()
          .split("\n")
          .map((line) => (JSON.parse(line) as { input: string }).input);
      return [1, 2, 3].map(prompts);
    };
    const [plain] = await order([]);
    const shuffled = await order(["data.validation_shuffle=true"]);
    expect([...shuffled[0]!].sort()).toEqual([...plain!].sort());
    expect(new Set(shuffled.map((prompts) => prompts.join())).size).toBeGreaterThan(1);
  });
});
