import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { loadPlugins } from "../../core/registry/index.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { RlhfDataset } from "../../plugins/dataset/rlhf.ts";
import { errorOf, folderWith, recordingLogger, WordTokenizer } from "./helpers.ts";

await loadPlugins([]);

const rows = (source: string, count: number): string =>
  Array.from({ length: count }, (_, index) =>
    JSON.stringify({ data_source: source, prompt: [{ role: "user", content: `${index}` }] }),
  ).join("\n");

const folder = folderWith({ "a.jsonl": rows("a", 10), "b.jsonl": rows("b", 4) });

async function load(weights: readonly number[], seed = 0): Promise<string[]> {
  const dataset = new RlhfDataset(
    {
      data: {
        prompt_key: "prompt",
        reward_fn_key: "data_source",
        max_prompt_length: 8,
        filter_overlong_prompts: false,
        truncation: "error",
        apply_chat_template_kwargs: {},
      },
      reward_model: { reward_manager: "naive" },
      custom_reward_function: { path: "reward.ts", name: "compute_score", reward_kwargs: {} },
    },
    { files: [join(folder, "a.jsonl"), join(folder, "b.jsonl")], weights, maxSamples: -1, shuffle: false },
    new WordTokenizer(),
    createRng(seed),
    recordingLogger(),
  );
  await dataset.load();
  return Array.from({ length: dataset.length }, (_, index) => {
    const { data_source, raw_prompt } = dataset.row(index);
    return `${data_source}${raw_prompt[0]!.content as string}`;
  });
}

const counts = (names: readonly string[]): Record<string, number> =>
  names.reduce<Record<string, number>>((all, name) => ({ ...all, [name]: (all[name] ?? 0) + 1 }), {});

describe("weights of files", () => {
  it("takes every row once without any", async () => {
    expect(await load([])).toEqual(await load([1, 1]));
    expect(await load([])).toHaveLength(14);
  });

  it("repeats rows, and draws a part of them by the seed", async () => {
    const names = await load([0.5, 2.5]);
    const [fromA, fromB] = [names.filter((name) => name.startsWith("a")), names.filter((name) => name.startsWith("b"))];
    expect(new Set(fromA).size).toBe(5);
    expect(fromA).toHaveLength(5);
    expect(fromB).toHaveLength(10);
    expect(Object.values(counts(fromB)).sort()).toEqual([2, 2, 3, 3]);
    expect(await load([0.5, 2.5])).toEqual(names);
    expect(await load([0.5, 2.5], 1)).not.toEqual(names);
  });

  it("are as many as files", async () => {
    const error = await errorOf(() => load([1]));
    expect(error).toMatchObject({ code: "VERL_CONFIG_VALUE", location: { path: "data.train_weights" } });
  });
});
