import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { loadConfig } from "../../core/config/load.ts";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import { readRows } from "../../core/data/read-rows.ts";
import type { Row } from "../../core/data/parquet/parquet-type.ts";
import { loadSftDataset } from "../../core/data/sft-dataset.ts";
import { compute_score } from "../../examples/sort-letters/reward.ts";
import { folderWith, recordingLogger, SORT_MODEL } from "./helpers.ts";

// A script that people run with plain Node, so it has no types.
const script = "../../examples/sort-letters/make-data.mjs";
const { drawProblems, makeData } = (await import(script)) as {
  drawProblems: (seed: number) => Record<"validation" | "demonstrations" | "train", string[]>;
  makeData: (options: { seed: number; out: string }) => Promise<object>;
};

interface PromptRow {
  prompt: { content: string }[];
  reward_model: { ground_truth: string };
}

const lettersOf = (rows: Row[]): string[] => (rows as unknown as PromptRow[]).map(({ prompt }) => prompt[0]!.content);
const setsOf = (problems: string[]): Set<string> => new Set(problems.map((problem) => [...problem].sort().join("")));

describe("the data of examples/sort-letters", () => {
  const out = folderWith({});
  let rows: Record<"train" | "validation" | "sft", Row[]>;

  beforeAll(async () => {
    await makeData({ seed: 0, out });
    const read = (name: string): Promise<Row[]> => readRows(join(out, `${name}.parquet`));
    rows = { train: await read("train"), validation: await read("validation"), sft: await read("sft") };
  });

  it("holds 150 steps of new prompts, 256 held-out sets and 100 demonstrations", () => {
    expect([rows.train, rows.validation, rows.sft].map(({ length }) => length)).toEqual([19_200, 256, 100]);
    expect(new Set(lettersOf(rows.train)).size).toBe(19_200);
    expect(setsOf(lettersOf(rows.validation)).size).toBe(256);
    expect(rows.train[5]).toEqual({
      data_source: "sort_letters",
      prompt: [{ role: "user", content: expect.stringMatching(/^[a-z]{5}$/) }],
      ability: "sorting",
      reward_model: { style: "rule", ground_truth: expect.stringMatching(/^[a-z]{5}$/) },
      extra_info: { split: "train", index: 5 },
    });
  });

  it("asks in validation for sets of letters that no other file has", () => {
    const heldOut = setsOf(lettersOf(rows.validation));
    const demonstrated = rows.sft.map(({ messages }) => (messages as { content: string }[])[0]!.content);
    const asked = [...lettersOf(rows.train), ...demonstrated];
    expect(asked.filter((problem) => new Set(problem).size !== 5)).toEqual([]);
    expect([...setsOf(asked)].filter((letters) => heldOut.has(letters))).toEqual([]);
  });

  it("demonstrates each letter and each pair of near ones, whatever the seed", () => {
    const letters = [..."abcdefghijklmnopqrstuvwxyz"];
    for (const seed of [0, 1, 2, 3]) {
      const answers = drawProblems(seed).demonstrations.map((problem) => [...problem].sort().join(""));
      expect(answers).toHaveLength(100);
      const rarelyShown = (parts: string[], times: number) =>
        parts.filter((part) => answers.filter((answer) => answer.includes(part)).length < times);
      const apart = (distance: number) => letters.slice(distance).map((letter, place) => letters[place]! + letter);
      expect(rarelyShown(letters, 10)).toEqual([]);
      expect(rarelyShown(apart(1), 3)).toEqual([]);
      expect(rarelyShown([...apart(2), ...apart(3)], 1)).toEqual([]);
    }
  });

  it("are the same problems for the same seed, others for another", () => {
    const { train, validation, demonstrations } = drawProblems(0);
    expect(lettersOf(rows.train)).toEqual(train);
    expect(lettersOf(rows.validation)).toEqual(validation);
    const other = drawProblems(1);
    expect(other.demonstrations.filter((problem) => demonstrations.includes(problem))).toEqual([]);
    expect(setsOf(other.validation)).not.toEqual(setsOf(validation));
  });

  it("has conversations of 14 tokens, the last six trained", async () => {
    const dataset = await loadSftDataset({
      files: [join(out, "sft.parquet")],
      maxSamples: -1,
      config: {
        messages_key: "messages",
        tools_key: "tools",
        max_length: 14,
        truncation: "error",
        apply_chat_template_kwargs: {},
      },
      tokenizer: await loadTokenizer(SORT_MODEL),
      log: recordingLogger(),
    });
    expect(dataset.stats).toEqual({
      "data/rows": 100,
      "data/conversations_truncated": 0,
      "data/untrainable_dropped": 0,
      "data/trained_tokens": 600,
    });
    expect([...dataset.example(0).lossMask].join("")).toBe("00000000111111");
  });

  it("rewards the sorted letters alone, and only when the answer ended", () => {
    const score = (solution_str: string, stop_reason: string): number =>
      compute_score({ solution_str, ground_truth: "abcde", extra_info: { stop_reason } });
    expect([score("abcde", "stop"), score("abced", "stop"), score("abcde", "length"), score("", "stop")]).toEqual([
      1, 0, 0, 0,
    ]);
  });
});

describe("the configs of examples/sort-letters", () => {
  it("are valid, and the second starts where the first ends", () => {
    const sft = loadConfig({ schema: "sft", file: "examples/sort-letters/sft.yaml" });
    const grpo = loadConfig({ schema: "ppo", file: "examples/sort-letters/grpo.yaml" });
    expect([...sft.notes, ...grpo.notes]).toEqual([]);
    expect(grpo.config.actor_rollout_ref.model.path).toBe(join(sft.config.trainer.default_local_dir, "huggingface"));
    const { data, actor_rollout_ref } = grpo.config;
    expect(data.train_batch_size * actor_rollout_ref.rollout.n).toBe(1024);
    expect(data.train_batch_size / actor_rollout_ref.actor.ppo_mini_batch_size).toBe(2);
  });
});
