import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { collatePrompts } from "../../core/data/collate.ts";
import type { DataConfig, DatasetSource } from "../../core/data/dataset.ts";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import type { Tokenizer } from "../../core/data/tokenizer.ts";
import { loadPlugins } from "../../core/registry/index.ts";
import { createRng } from "../../core/tensor/rng.ts";
import { RlhfDataset } from "../../plugins/dataset/rlhf.ts";
import { errorOf, folderWith, recordingLogger, SORT_MODEL, WordTokenizer } from "./helpers.ts";

await loadPlugins([]);

const CONFIG: DataConfig = {
  prompt_key: "prompt",
  reward_fn_key: "data_source",
  max_prompt_length: 8,
  filter_overlong_prompts: false,
  truncation: "error",
  apply_chat_template_kwargs: {},
};

const user = (content: string): object[] => [{ role: "user", content }];
const lines = (rows: object[]): string => rows.map((row) => JSON.stringify(row)).join("\n");

interface Setup {
  files: readonly string[];
  config?: Partial<DataConfig>;
  source?: Partial<DatasetSource>;
  tokenizer?: Tokenizer;
  /** File of the score function; null: registered ones. */
  rewardFile?: string | null;
}

async function load({
  files,
  config,
  source,
  tokenizer = new WordTokenizer(),
  rewardFile = "reward.ts",
}: Setup): Promise<{ dataset: RlhfDataset; lines: string[]; all: string[] }> {
  const logger = recordingLogger();
  const dataset = new RlhfDataset(
    {
      data: { ...CONFIG, ...config },
      reward_model: { reward_manager: "naive" },
      custom_reward_function: { path: rewardFile, name: "compute_score", reward_kwargs: {} },
    },
    { files, maxSamples: -1, shuffle: false, ...source },
    tokenizer,
    createRng(0),
    logger,
  );
  await dataset.load();
  const lines = logger.lines.filter((line) => !line.includes("ground_truth"));
  return { dataset, lines, all: logger.lines };
}

const words = (count: number): string => Array.from({ length: count }, (_, index) => `w${index}`).join(" ");

describe("RlhfDataset", () => {
  it("wants a ground truth in every row where a registered function scores it", async () => {
    const row = (truth?: unknown) => ({
      data_source: "s",
      prompt: user("one"),
      ...(truth === undefined ? {} : { reward_model: { ground_truth: truth } }),
    });
    const folder = folderWith({
      "all.jsonl": lines([row("1"), row("2")]),
      "none.jsonl": lines([row(), row()]),
      "hole.jsonl": lines([row("1"), row(null)]),
    });
    const files = (name: string): string[] => [join(folder, name)];
    expect((await load({ files: files("all.jsonl"), rewardFile: null })).dataset.length).toBe(2);
    const missing = await errorOf(() => load({ files: files("none.jsonl"), rewardFile: null }));
    expect(missing).toMatchObject({ code: "VERL_DATA_GROUND_TRUTH", location: { file: files("none.jsonl")[0] } });
    expect(missing.message).toContain("Row 0 has no `reward_model.ground_truth`; 2 of 2 rows");
    // A function of the user's may need none, but not of some rows only.
    const own = await load({ files: files("none.jsonl") });
    expect(own.all).toEqual([expect.stringContaining('No row of data_source "s" has `reward_model.ground_truth`')]);
    expect((await errorOf(() => load({ files: files("hole.jsonl") }))).message).toContain("Row 1 has no");
  });

  it("warns of rows that no score function is known for, before a step samples answers to them", async () => {
    const row = (data_source: string) => ({ data_source, prompt: user("one"), reward_model: { ground_truth: "1" } });
    const rows = ["openai/gsm8k", "nobody", "nobody", "codeforces"].map(row);
    const file = join(folderWith({ "a.jsonl": lines(rows) }), "a.jsonl");
    const { all } = await load({ files: [file], rewardFile: null });
    expect(all).toEqual([
      expect.stringMatching(/data_source "nobody"\. The first is row 1 of .*a\.jsonl; the run ends when/),
      expect.stringMatching(/"sandbox_fusion" needs the option `sandbox_fusion_url`.* row 3 of/),
    ]);
    expect((await load({ files: [file] })).all).toEqual([]);
  });

  it("names the row of a prompt without a token", async () => {
    const folder = folderWith({
      "a.jsonl": lines([
        { data_source: "s", prompt: user("one") },
        { data_source: "s", prompt: user("") },
      ]),
    });
    const error = await errorOf(() => load({ files: [join(folder, "a.jsonl")] }));
    expect(error).toMatchObject({ code: "VERL_DATA_PROMPT_EMPTY", location: { file: join(folder, "a.jsonl") } });
    expect(error.message).toContain("row 1");
  });

  it("says so when there is no file or no row", async () => {
    const folder = folderWith({ "a.jsonl": lines([{ data_source: "s", prompt: user("one") }]) });
    for (const setup of [{ files: [] }, { files: [join(folder, "a.jsonl")], source: { maxSamples: 0 } }]) {
      const error = await errorOf(() => load(setup));
      expect(error).toMatchObject({ code: "VERL_DATA_EMPTY", location: { path: "data.train_files" } });
    }
  });

  it("joins files, keeps every column and settles verl's names", async () => {
    const folder = folderWith({
      "a.jsonl": lines([
        {
          data_source: "s",
          prompt: user("one"),
          reward_model: { style: "rule", ground_truth: [1, { a: null }] },
          ability: "x",
        },
      ]),
      "b.jsonl": lines([
        { data_source: "t", prompt: [{ role: "user", content: "two", tool_calls: null }], extra_info: { index: 42 } },
      ]),
    });
    const { dataset } = await load({ files: [join(folder, "a.jsonl"), join(folder, "b.jsonl")] });
    expect(dataset.length).toBe(2);
    expect(dataset.row(0)).toEqual({
      data_source: "s",
      prompt: user("one"),
      raw_prompt: user("one"),
      reward_model: { style: "rule", ground_truth: [1, { a: null }] },
      ability: "x",
      extra_info: {},
      index: 0,
    });
    // A key that is null for lack of a value is none to a template.
    expect(dataset.row(1)).toMatchObject({ raw_prompt: user("two"), index: 42, data_source: "t" });
    expect(dataset.stats).toEqual({ "data/rows": 2, "data/prompts_truncated": 0 });
  });

  it("reads other columns when the config names them", async () => {
    const folder = folderWith({ "a.jsonl": lines([{ source: "s", question: user("one") }]) });
    const { dataset } = await load({
      files: [join(folder, "a.jsonl")],
      config: { prompt_key: "question", reward_fn_key: "source" },
    });
    expect(dataset.row(0)).toMatchObject({ data_source: "s", raw_prompt: user("one"), question: user("one") });
  });

  it("filters with the row's own tools in the template (case 73)", async () => {
    const rows = [
      { data_source: "s", prompt: user(words(8)), tools: JSON.stringify([{ text: words(12) }]) },
      { data_source: "s", prompt: user(words(8)) },
    ];
    const folder = folderWith({ "a.jsonl": lines(rows) });
    const files = [join(folder, "a.jsonl")];
    const { dataset, lines: log } = await load({
      files,
      config: { max_prompt_length: 10, filter_overlong_prompts: true },
    });
    expect(dataset.length).toBe(1);
    expect(dataset.row(0).index).toBe(1);
    expect(dataset.stats).toMatchObject({ "data/overlong_dropped": 1 });
    expect(log.join()).toMatch(/Removed 1 of 2 .*longest 20/);

    const error = await errorOf(() => load({ files, config: { max_prompt_length: 10 } }));
    expect(error).toMatchObject({
      code: "VERL_DATA_PROMPT_TOO_LONG",
      location: { file: files[0] },
      details: { row: 0, tokens: 20, limit: 10 },
    });
    expect(error.message).toMatch(/row 0 .*20 tokens > 10/);
  });

  it.each([
    ["left", "w4 w5 w6 w7 w8"],
    ["right", "w0 w1 w2 w3 w4"],
    ["middle", "w0 w1 w6 w7 w8"],
  ] as const)("cuts the %s side", async (truncation, kept) => {
    const folder = folderWith({ "a.jsonl": lines([{ data_source: "s", prompt: user(words(9)) }]) });
    const tokenizer = new WordTokenizer();
    const { dataset, lines: log } = await load({
      files: [join(folder, "a.jsonl")],
      config: { truncation, max_prompt_length: 5 },
      tokenizer,
    });
    expect(tokenizer.decode(dataset.promptIds(0))).toBe(kept);
    expect(dataset.stats).toMatchObject({ "data/prompts_truncated": 1 });
    expect(log).toHaveLength(1);
  });

  it("takes the first rows, or seeded random ones in file order", async () => {
    const rows = Array.from({ length: 30 }, (_, index) => ({
      data_source: "s",
      prompt: user("x"),
      extra_info: { index },
    }));
    const folder = folderWith({ "a.jsonl": lines(rows) });
    const files = [join(folder, "a.jsonl")];
    const picked = async (shuffle: boolean): Promise<unknown[]> => {
      const { dataset } = await load({ files, source: { maxSamples: 5, shuffle } });
      return Array.from({ length: dataset.length }, (_, index) => dataset.row(index).index);
    };
    expect(await picked(false)).toEqual([0, 1, 2, 3, 4]);
    const random = (await picked(true)) as number[];
    expect(random).toEqual(await picked(true));
    expect(random).not.toEqual([0, 1, 2, 3, 4]);
    expect([...random].sort((a, b) => a - b)).toEqual(random);
  });

  it.each([
    [
      "no prompt column",
      [{ data_source: "s", question: "x" }],
      "VERL_DATA_COLUMN_MISSING",
      /no column "prompt".*data_source, question/,
    ],
    ["no data_source", [{ prompt: user("x") }], "VERL_DATA_COLUMN_MISSING", /no column "data_source"/],
    [
      "a prompt that is text",
      [
        { data_source: "s", prompt: user("x") },
        { data_source: "s", prompt: "x" },
      ],
      "VERL_DATA_COLUMN_TYPE",
      /"prompt", row 1 holds the string "x"/,
    ],
    [
      "a message without role",
      [{ data_source: "s", prompt: [{ content: "x" }] }],
      "VERL_DATA_COLUMN_TYPE",
      /"prompt\[0\]", row 0 holds an object with content/,
    ],
    ["an empty prompt", [{ data_source: "s", prompt: [] }], "VERL_DATA_COLUMN_TYPE", /an empty list/],
    [
      "a null data_source",
      [{ data_source: null, prompt: user("x") }],
      "VERL_DATA_COLUMN_TYPE",
      /"data_source", row 0 holds nothing/,
    ],
    [
      "extra_info as text",
      [{ data_source: "s", prompt: user("x"), extra_info: "{}" }],
      "VERL_DATA_COLUMN_TYPE",
      /"extra_info"/,
    ],
    [
      "tools that are no list",
      [{ data_source: "s", prompt: user("x"), tools: "{" }],
      "VERL_DATA_COLUMN_TYPE",
      /"tools"/,
    ],
  ])("refuses %s", async (_, rows, code, message) => {
    const folder = folderWith({ "a.jsonl": lines(rows) });
    const error = await errorOf(() => load({ files: [join(folder, "a.jsonl")] }));
    expect(error).toMatchObject({ code, location: { file: join(folder, "a.jsonl") } });
    expect(error.message).toMatch(message);
  });

  it("says which length would keep a prompt when the filter drops all", async () => {
    const folder = folderWith({ "a.jsonl": lines([{ data_source: "s", prompt: user(words(9)) }]) });
    const error = await errorOf(() =>
      load({ files: [join(folder, "a.jsonl")], config: { filter_overlong_prompts: true } }),
    );
    expect(error.code).toBe("VERL_DATA_EMPTY");
    expect(error.hint).toContain("9 would keep");
  });

  it("names file and row when the chat template refuses a prompt", async () => {
    const folder = folderWith({
      "a.jsonl": lines([
        { data_source: "s", prompt: user("ab") },
        { data_source: "s", prompt: [{ role: "robot", content: "ab" }] },
      ]),
    });
    const error = await errorOf(async () =>
      load({ files: [join(folder, "a.jsonl")], tokenizer: await loadTokenizer(SORT_MODEL) }),
    );
    expect(error).toMatchObject({
      code: "VERL_DATA_CHAT_TEMPLATE",
      location: { file: join(folder, "a.jsonl") },
      details: { row: 1 },
    });
  });
});

describe("collatePrompts", () => {
  it("pads prompts left to the limit and keeps all columns, null where a row has none", async () => {
    const folder = folderWith({
      "a.jsonl": lines([
        { data_source: "s", prompt: user("a b c"), ability: "x" },
        { data_source: "s", prompt: user("a") },
      ]),
    });
    const { dataset } = await load({ files: [join(folder, "a.jsonl")] });
    const batch = collatePrompts(dataset, [1, 0], { promptLength: 4, padTokenId: 0 });
    expect([...batch.tensor("prompts", "int32").data]).toEqual([0, 0, 0, 2, 0, 2, 3, 4]);
    expect([...batch.tensor("attention_mask", "int32").data]).toEqual([0, 0, 0, 1, 0, 1, 1, 1]);
    expect([...batch.tensor("position_ids", "int32").data]).toEqual([0, 0, 0, 0, 0, 0, 1, 2]);
    expect(batch.column("ability")).toEqual([null, "x"]);
    expect(batch.column("raw_prompt")).toEqual([user("a"), user("a b c")]);
  });
});
