import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, jest } from "@jest/globals";
import type { DataCheck } from "../../core/cli/data-check-report.ts";
import { readParquet } from "../../core/data/parquet/read-parquet.ts";
import { writeParquet } from "../../core/data/parquet/write-parquet.ts";
import { folderWith, SORT_MODEL } from "../data/helpers.ts";
import { cli } from "./helpers.ts";

// The first command loads every built-in, slowly on a busy machine.
jest.setTimeout(300_000);

const jsonLines = (rows: readonly object[]): string => rows.map((row) => JSON.stringify(row)).join("\n");

const row = (content: string, truth: unknown, others: object = {}) => ({
  data_source: "openai/gsm8k",
  prompt: [{ role: "user", content }],
  reward_model: { style: "rule", ground_truth: truth },
  ...others,
});

async function check(rows: readonly object[], args: readonly string[] = [], files: Record<string, string> = {}) {
  const cwd = folderWith({ "data.jsonl": jsonLines(rows), ...files });
  const result = await cli(["data", "check", "data.jsonl", "--json", ...args], { cwd });
  const report = JSON.parse(result.stdout) as DataCheck;
  const found = (name: string) => report.findings.filter((finding) => finding.check === name);
  return { ...result, report, found };
}

const MODEL = [`actor_rollout_ref.model.path=${join(process.cwd(), SORT_MODEL)}`];

describe("verl data check", () => {
  it("passes good data, with its columns, and says what it could not check", async () => {
    const { code, report, stderr } = await check([row("ab", "1"), row("ba", "2")]);
    expect({ code, findings: report.findings, stderr }).toEqual({ code: 0, findings: [], stderr: "" });
    expect(report).toMatchObject({
      file: "data.jsonl",
      rows: 2,
      columns: { prompt: "list<struct<role: string, content: string>>" },
    });
    expect(report.not_checked).toHaveLength(2);
  });

  it("measures rows under the model's template with the row's tools, and names those too long", async () => {
    const rows = [row("ab", "1"), row("abcdefgh", "2"), row("b", "3")];
    const { code, report, found } = await check(rows, [...MODEL, "data.max_prompt_length=6"]);
    expect(code).toBe(2);
    expect(report.tokens).toEqual({ mean: 6 + 2 / 3, p50: 5, p95: 11, max: 11, limit: 6 });
    expect(found("overlong")).toMatchObject([{ level: "error", count: 1, rows: [1] }]);
    const filtered = await check(rows, [...MODEL, "data.max_prompt_length=6", "data.filter_overlong_prompts=true"]);
    expect(filtered.code).toBe(0);
    expect(filtered.found("overlong")[0]!.level).toBe("warning");
  });

  it("counts the tools of the run's tools file, and those that a row brings instead", async () => {
    const template =
      "{% for tool in tools %}{{ tool.function.name }}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}";
    const tools = `tools: [{ class_name: gsm8k, config: {}, tool_schema: { type: function, function: { name: abcd, description: a, parameters: {} } } }]`;
    const own = row("abc", "2", { tools: JSON.stringify([{ type: "function", function: { name: "xy" } }]) });
    const cwd = folderWith({ "data.jsonl": jsonLines([row("ab", "1"), own]), "tools.yaml": tools });
    const { stdout } = await cli(
      [
        ...["data", "check", "data.jsonl", "--json", ...MODEL, "data.max_prompt_length=5"],
        `actor_rollout_ref.model.custom_chat_template='${template}'`,
        `actor_rollout_ref.rollout.multi_turn.tool_config_path=${join(cwd, "tools.yaml")}`,
      ],
      { cwd },
    );
    const report = JSON.parse(stdout) as DataCheck;
    expect(report.tokens).toMatchObject({ max: 6 });
    expect(report.findings).toMatchObject([{ check: "overlong", rows: [0] }]);
  });

  it("names every row that the template refuses", async () => {
    const bad = { ...row("ab", "1"), prompt: [{ role: "robot", content: "ab" }] };
    const { code, found } = await check([row("a", "0"), bad, row("b", "2"), bad], MODEL);
    expect(code).toBe(2);
    expect(found("template")).toMatchObject([{ count: 2, rows: [1, 3] }]);
  });

  it("tells one kind of fault once, however many rows have it and whatever they hold", async () => {
    const words = Array.from({ length: 40 }, (_, index) => row(`A${index}`, "1"));
    const texts = Array.from({ length: 40 }, (_, index) => ({ ...row("", "1"), prompt: `text ${index}` }));
    const { found, report } = await check([...words, ...texts], MODEL);
    expect(found("template")).toMatchObject([{ count: 40, rows: [0, 1, 2, 3, 4] }]);
    expect(found("types")).toMatchObject([{ count: 40, rows: [40, 41, 42, 43, 44] }]);
    expect(report.tokens).toMatchObject({ max: 0 });
  });

  it("finds columns and values that a run cannot read, one finding for the same fault", async () => {
    const text = { ...row("", "1"), prompt: "ab" };
    const { code, found } = await check([row("a", "1"), text, text]);
    expect(code).toBe(2);
    expect(found("types")).toMatchObject([{ count: 2, rows: [1, 2], message: expect.stringContaining('"prompt"') }]);
    const none = await check([{ question: "a" }]);
    expect(none.found("columns")).toHaveLength(2);
  });

  it("tells prompts that come twice from prompts with two answers", async () => {
    const { code, found } = await check([row("a", "1"), row("b", "2"), row("a", "1"), row("b", "3")]);
    expect(code).toBe(2);
    expect(found("duplicates")).toMatchObject([{ level: "warning", rows: [2] }]);
    expect(found("contradictions")).toMatchObject([
      { level: "error", rows: [3], message: expect.stringContaining('row 1: "2", row 3: "3"') },
    ]);
  });

  it("wants ground truths and a score function for every data source", async () => {
    const { code, found } = await check([
      row("a", "1"),
      row("b", null),
      { ...row("c", "3"), data_source: "nobody/knows" },
    ]);
    expect(code).toBe(2);
    expect(found("ground_truth")).toMatchObject([{ level: "error", rows: [1] }]);
    expect(found("score_function")).toMatchObject([
      { rows: [2], message: expect.stringContaining("nobody/knows"), hint: expect.any(String) },
    ]);
  });

  it("shows fields that are null because other rows have them, and what becomes of them", async () => {
    const cwd = folderWith({});
    const file = join(cwd, "a.parquet");
    const call = { role: "assistant", content: null, tool_calls: [{ name: "f" }] };
    const schema = {
      data_source: "string",
      prompt: [{ role: "string", content: "string", tool_calls: [{ name: "string" }] }],
      reward_model: { ground_truth: "string" },
      extra_info: { level: "string" },
    } as const;
    const rows = [
      { ...row("a", "1"), extra_info: { level: null } },
      { ...row("b", "2"), prompt: [{ role: "user", content: "b" }, call], extra_info: { level: "2" } },
    ];
    await writeParquet(file, rows, schema);
    const { code, stdout } = await cli(["data", "check", file], { cwd });
    expect(code).toBe(0);
    expect(stdout).toContain("prompt[].tool_calls is null in 2 of 3 values. They are taken away before the template");
    expect(stdout).toContain("extra_info.level is null in 1 of 2 values. Score functions see null there.");
    expect(stdout).toContain("No errors.");
  });

  it("runs the reward on given answers", async () => {
    const rows = [
      row("a", "1", { extra_info: { answer: "#### 1" } }),
      row("b", "2", { extra_info: { answer: "#### 3" } }),
      row("c", "3", { extra_info: {} }),
    ];
    const { code, report, found } = await check(rows, ["--answers", "extra_info.answer"]);
    expect(code).toBe(0);
    expect(report.scores).toEqual({ mean: 0.5, p50: 1, p95: 1, max: 1, scored: 2, unscored: 0 });
    expect(found("reward")).toMatchObject([{ level: "warning", rows: [1] }]);
    expect(found("answers")).toMatchObject([{ level: "warning", rows: [2] }]);

    const throws =
      "export function compute_score({ solution_str }) { throw new Error(`cannot read ${solution_str}`); }";
    const broken = await check(rows, ["--answers", "extra_info.answer", "custom_reward_function.path=reward.mjs"], {
      "reward.mjs": throws,
    });
    expect(broken.code).toBe(2);
    expect(broken.found("reward").map(({ level, rows: at }) => [level, at])).toEqual([
      ["error", [0]],
      ["error", [1]],
    ]);
    expect(broken.found("reward")[0]!.message).toContain("cannot read #### 1");
  }, 300_000);

  it("ends a reward that does not end on a given answer, and scores the others", async () => {
    const rows = [row("a", "1", { extra_info: { answer: "stay" } }), row("b", "2", { extra_info: { answer: "go" } })];
    const loops = "export function compute_score({ solution_str }) { while (solution_str === 'stay'); return 1; }";
    const overrides = ["custom_reward_function.path=reward.mjs", "reward_model.timeout_s=3"];
    const { code, report, found } = await check(rows, ["--answers", "extra_info.answer", ...overrides], {
      "reward.mjs": loops,
    });
    expect(code).toBe(2);
    expect(report.scores).toMatchObject({ mean: 1, scored: 1, unscored: 1 });
    expect(found("reward")).toMatchObject([{ level: "error", rows: [0] }]);
    expect(found("reward")[0]!.message).toContain("timed out after 3 s");
  }, 300_000);

  it("checks conversations for SFT: lengths, drift, nothing to train on", async () => {
    const chat = (...turns: string[]) => ({
      messages: turns.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content })),
    });
    const model = `model.path=${join(process.cwd(), SORT_MODEL)}`;
    const { code, report, found } = await check(
      [chat("ba", "ab"), chat("a"), chat("abc", "abcdefghijk")],
      ["--sft", model, "data.max_length=12"],
    );
    expect(code).toBe(2);
    expect(report.tokens).toMatchObject({ max: 18, limit: 12 });
    expect(found("overlong")).toMatchObject([{ rows: [2] }]);
    expect(found("untrained")).toMatchObject([{ level: "warning", rows: [1] }]);
    const broken = await check([{ messages: [{ role: "robot", content: "a" }] }], ["--sft", model]);
    expect(broken.found("template")).toMatchObject([{ rows: [0] }]);
  });

  it("ends with the reader's error for a file that is none", async () => {
    const { code, stderr } = await cli(["data", "check", "gone.parquet"], { cwd: folderWith({}) });
    expect(code).toBe(2);
    expect(stderr).toContain("VERL_DATA_FILE_MISSING");
  });
});

describe("verl data convert", () => {
  const MAP = `columns:
  data_source: openai/gsm8k
  prompt:
    - { role: user, content: "{question} Show {{steps}}." }
  reward_model: { style: rule, ground_truth: "{answer|after ####|trim}" }
  extra_info: { index: "{row_index}", level: "{level|number}", id: "{id}" }
  tools: "{tools|json}"
types: { tools: json }
`;

  async function convert(name: string, text: string, map?: string) {
    const cwd = folderWith({ [name]: text, ...(map !== undefined && { "map.yaml": map }) });
    const args = [
      "data",
      "convert",
      name,
      "--out",
      "out/t.parquet",
      ...(map === undefined ? [] : ["--map", "map.yaml"]),
    ];
    const result = await cli(args, { cwd });
    const out = join(cwd, "out/t.parquet");
    return { ...result, rows: existsSync(out) ? await readParquet(out) : [] };
  }

  const expected = (id: unknown) => ({
    data_source: "openai/gsm8k",
    prompt: [{ role: "user", content: "How many,\nthen? Show {steps}." }],
    reward_model: { style: "rule", ground_truth: "72" },
    extra_info: { index: 0, level: 1.5, id },
    tools: '[{"name":"f","default":null,"big":9007199254740993}]',
  });
  const tools = '[{"name":"f","default":null,"big":9007199254740993}]';

  it("maps JSON Lines, large integers and JSON text kept", async () => {
    const line = `{"question":"How many,\\nthen?","answer":"x\\n#### 72 ","level":"1.5","id":9007199254740993,"tools":${JSON.stringify(tools)}}`;
    const { code, stdout, rows } = await convert("a.jsonl", line, MAP);
    expect(code).toBe(0);
    expect(stdout).toContain("Wrote 1 row to out/t.parquet.");
    expect(rows).toEqual([expected(9007199254740993n)]);
  });

  it("maps CSV with quoted fields", async () => {
    const csv = `question,answer,level,id,tools\n"How many,\nthen?","x\n#### 72 ",1.5,7,"${tools.replaceAll('"', '""')}"\n`;
    const { code, rows } = await convert("a.csv", csv, MAP);
    expect(code).toBe(0);
    expect(rows).toEqual([expected("7")]);
  });

  it("warns of a file without a mapping that no run can read", async () => {
    const { code, stderr, rows } = await convert("q.csv", "question,answer\nWhy?,So.\n");
    expect({ code, rows }).toEqual({ code: 0, rows: [{ question: "Why?", answer: "So." }] });
    expect(stderr).toMatch(/verl train.*`prompt`.*--map/);
    expect((await convert("p.csv", "prompt\nWhy?\n")).stderr).toBe("");
    expect((await convert("q.csv", "question\nWhy?\n", "columns: { ask: '{question}' }\n")).stderr).toBe("");
  });

  it.each(["__proto__", "constructor", "robot"])("refuses a chat from %s", async (from) => {
    const { code, stderr } = await convert("chats.json", JSON.stringify([{ conversations: [{ from, value: "hi" }] }]));
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/message at 0 with neither role/) });
  });

  it("turns ShareGPT chats into messages without a mapping", async () => {
    const chats = [
      {
        id: 1,
        conversations: [
          { from: "human", value: "hi" },
          { from: "gpt", value: "ho" },
        ],
      },
      { id: 2, conversations: [{ role: "user", content: "a" }] },
    ];
    const { rows } = await convert("chats.json", JSON.stringify(chats));
    expect(rows).toEqual([
      {
        messages: [
          { role: "user", content: "hi" },
          { role: "assistant", content: "ho" },
        ],
        id: 1,
      },
      { messages: [{ role: "user", content: "a" }], id: 2 },
    ]);
  });

  it.each([
    [
      "an unknown field",
      '{"a":1}',
      "columns: { x: '{b}' }",
      "VERL_DATA_MAPPING",
      'Row 0, column "x": The row has no field "b"',
    ],
    ["an unknown filter", '{"a":1}', "columns: { x: '{a|shout}' }", "VERL_DATA_MAPPING", 'no filter "shout"'],
    ["a mark that is not there", '{"a":"1"}', "columns: { x: '{a|after ####}' }", "VERL_DATA_MAPPING", 'has no "####"'],
    ["no number", '{"a":""}', "columns: { x: '{a|number}' }", "VERL_DATA_MAPPING", "is no number"],
    ["a mapping without columns", '{"a":1}', "x: 1", "VERL_DATA_MAPPING", "no `columns:`"],
    ["a type that is none", '{"a":1}', "columns: { x: '{a}' }\ntypes: { x: text }", "VERL_DATA_MAPPING", "no type"],
    ["broken YAML", '{"a":1}', "columns: { x: ", "VERL_DATA_MAPPING", "not valid YAML"],
    [
      "two types in a column",
      '{"a":1}\n{"a":"b"}',
      "columns: { x: '{a}' }",
      "VERL_DATA_COLUMN_TYPE",
      "int64 and string",
    ],
  ])("says what is wrong with %s", async (_, text, map, code, message) => {
    const result = await convert("a.jsonl", text, map);
    expect(result.code).toBe(2);
    expect(result.stderr).toContain(code);
    expect(result.stderr).toContain(message);
    expect(result.rows).toEqual([]);
  });

  it("refuses an output that is no parquet file, and a table that is broken", async () => {
    const cwd = folderWith({ "a.jsonl": '{"a":1}', "b.csv": 'a,b\n"1,2\n' });
    expect((await cli(["data", "convert", "a.jsonl", "--out", "t.csv"], { cwd })).stderr).toContain(
      "VERL_DATA_FILE_FORMAT",
    );
    expect((await cli(["data", "convert", "b.csv", "--out", "t.parquet"], { cwd })).stderr).toContain(
      "VERL_DATA_FILE_CORRUPT",
    );
    // A file stands where the folder would be.
    expect(await cli(["data", "convert", "a.jsonl", "--out", "b.csv/t.parquet"], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/VERL_CLI_FILE.*b\.csv\/t\.parquet[^]*cannot be written/),
    });
    writeFileSync(join(cwd, "c.csv"), "a,b\n");
    expect((await cli(["data", "convert", "c.csv", "--out", "t.parquet"], { cwd })).stderr).toContain(
      "VERL_DATA_EMPTY",
    );
  });
});
