import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { loadPlugins } from "../../core/registry/index.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { DynamicDataset } from "../../plugins/dataset/dynamic.ts";
import { errorOf, folderWith, recordingLogger, WordTokenizer } from "./helpers.ts";

await loadPlugins([]);

const row = (content: string) => JSON.stringify({ data_source: "s", prompt: [{ role: "user", content }] });
const GENERATOR = `export class Twice {
  constructor({ config }) { this.limit = config.data.max_prompt_length; this.calls = 0; }
  generate({ dataset, batch, step }) {
    this.calls += 1;
    const content = Array(step).fill("w").join(" ");
    return [{ data_source: "s", prompt: [{ role: "user", content }], extra_info: { call: this.calls, of: dataset.length, id: 2n ** 60n } }];
  }
  saveState() { return this.calls; }
  loadState(calls) { this.calls = calls; }
}
export class Wrong { generate() { return "rows"; } }
export class Bad { generate() { return [{ data_source: "s", prompt: "text" }]; } }
export class None {}`;

const folder = folderWith({ "a.jsonl": [row("a b"), row("c")].join("\n"), "gen.mjs": GENERATOR });

async function load(name: string, split: "train" | "validation" = "train", path: string | null = "gen.mjs") {
  const log = recordingLogger();
  const dataset = new DynamicDataset(
    {
      data: {
        prompt_key: "prompt",
        reward_fn_key: "data_source",
        max_prompt_length: 3,
        filter_overlong_prompts: false,
        truncation: "error",
        apply_chat_template_kwargs: {},
        datagen: { path, name },
      },
      reward_model: { reward_manager: "naive" },
      custom_reward_function: { path: "reward.ts", name: "compute_score", reward_kwargs: {} },
    },
    { split, files: [join(folder, "a.jsonl")], maxSamples: -1, shuffle: false, directory: folder },
    new WordTokenizer(),
    createRng(0),
    log,
  );
  await dataset.load();
  return { dataset, log };
}

describe("the dataset dynamic", () => {
  it("adds what the generator makes after each step, and counts what is too long", async () => {
    const { dataset, log } = await load("Twice");
    for (const step of [1, 2, 3, 4]) await dataset.onBatchEnd(new DataProto(), step);
    expect(dataset.length).toBe(5);
    expect(dataset.promptIds(4)).toHaveLength(3);
    expect(dataset.row(3)).toMatchObject({ extra_info: { call: 2, of: 3, id: 2n ** 60n }, index: 3 });
    expect(log.lines).toContain("Left out 1 of 1 generated rows: too long.");
    expect(dataset.stats["data/rows"]).toBe(5);
  });

  it("comes back from a checkpoint with its rows and its generator's state", async () => {
    const { dataset } = await load("Twice");
    for (const step of [1, 2]) await dataset.onBatchEnd(new DataProto(), step);
    const state: unknown = JSON.parse(JSON.stringify(dataset.saveState()));
    const { dataset: resumed } = await load("Twice");
    resumed.loadState(state);
    for (const one of [dataset, resumed]) await one.onBatchEnd(new DataProto(), 3);
    const rows = (one: DynamicDataset) => Array.from({ length: one.length }, (_, index) => one.row(index));
    expect(rows(resumed)).toEqual(rows(dataset));
    expect(resumed.saveState()).toEqual(dataset.saveState());
  });

  it("leaves validation data as it is", async () => {
    const { dataset } = await load("Twice", "validation");
    await dataset.onBatchEnd(new DataProto(), 1);
    expect(dataset.length).toBe(2);
  });

  it("says what is wrong with a generator", async () => {
    const codes = async (name: string, path?: null): Promise<string> =>
      (
        await errorOf(async () => {
          const { dataset } = await load(name, "train", path === null ? null : "gen.mjs");
          await dataset.onBatchEnd(new DataProto(), 1);
        })
      ).code;
    expect(await codes("Wrong")).toBe("VERL_DATA_CUSTOM_CLASS");
    expect(await codes("None")).toBe("VERL_DATA_CUSTOM_CLASS");
    expect(await codes("Bad")).toBe("VERL_DATA_COLUMN_TYPE");
    expect(await codes("Twice", null)).toBe("VERL_CONFIG_VALUE");
  });
});
