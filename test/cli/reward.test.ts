import { describe, expect, it } from "@jest/globals";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { folderWith } from "../data/helpers.ts";
import { cli } from "./helpers.ts";

const REWARD = `export const compute_score = ({ solution_str, ground_truth, extra_info }) => {
  if (solution_str === "boom") throw new Error("no such answer");
  return { score: solution_str === ground_truth && extra_info.stop_reason !== "length" ? 1 : 0, letters: solution_str.length };
};`;
const lines = (...rows: object[]): string => rows.map((row) => JSON.stringify(row)).join("\n");
const row = (output: string, gts: string, score: number | null, more: object = {}) => ({
  uid: `1/${output}`,
  data_source: "letters",
  input: "dcb",
  output,
  gts,
  score,
  ...more,
});
const OVERRIDES = ["custom_reward_function.path=reward.js"];

function folder(dump = lines(row("abc", "abc", 1), row("abd", "abc", 1), row("é", "é", null))): string {
  return folderWith({ "dump.jsonl": dump, "reward.js": REWARD, "package.json": '{ "type": "module" }' });
}

describe("verl reward run", () => {
  it("scores a dump again and compares", async () => {
    const cwd = folder();
    const argv = ["reward", "run", "--data", "dump.jsonl", ...OVERRIDES, "--out", "out/scored.jsonl"];
    const { code, stdout, stderr } = await cli([...argv, "--json"], { cwd });
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      data: "dump.jsonl",
      manager: "naive",
      rows: 3,
      scored: 3,
      unscored: {},
      score: { mean: 2 / 3, min: 0, max: 1 },
      previous: { mean: 1, changed: 2 },
      parts: { letters: 7 / 3 },
      metrics: { "reward/time_s/compute_score/p50": expect.any(Number) },
    });
    const written = readFileSync(join(cwd, "out/scored.jsonl"), "utf8").trim().split("\n");
    expect(JSON.parse(written[1]!)).toMatchObject({
      output: "abd",
      previous_score: 1,
      score: 0,
      reward: { letters: 3 },
    });
    const { stdout: text } = await cli(argv, { cwd });
    expect(text).toContain("mean 1; 2 rows changed");
  }, 300_000);

  it("needs no model to score text, though the config names one; a manager that counts tokens does", async () => {
    const cwd = folder(lines(row("abc", "abc", 1, { response_ids: [1, 2] })));
    const model = "actor_rollout_ref.model.path=models/elsewhere";
    const argv = ["reward", "run", "--data", "dump.jsonl", ...OVERRIDES, model, "--json"];
    const { code, stdout, stderr } = await cli(argv, { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("scored as text") });
    expect(JSON.parse(stdout)).toMatchObject({ scored: 1, score: { mean: 1 } });
    const counting = await cli([...argv, "--manager", "dapo"], { cwd });
    expect(counting).toMatchObject({ code: 2, stderr: expect.stringContaining("models/elsewhere") });
  }, 300_000);

  it("fails when too many answers have no score, and still tells the rest", async () => {
    const cwd = folder(lines(row("abc", "abc", 1), row("boom", "abc", 1)));
    const argv = ["reward", "run", "--data", "dump.jsonl", ...OVERRIDES, "--json"];
    const { code, stdout, stderr } = await cli(argv, { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain("VERL_REWARD_UNSCORED");
    const { unscored, scored } = JSON.parse(stdout) as { unscored: Record<string, object>; scored: number };
    expect(scored).toBe(1);
    expect(unscored["error"]).toMatchObject({
      count: 1,
      first: "1/boom",
      reason: expect.stringContaining("no such answer"),
    });
    const lenient = await cli([...argv, "reward_model.max_unscored_fraction=0.5"], { cwd });
    expect(lenient.code).toBe(0);
  });

  it("reads what the run knew of each answer, and rows of other dumps", async () => {
    const cwd = folder(
      lines(
        row("abc", "abc", 1, { extra_info: { stop_reason: "length" } }),
        { response: "a", reward_model: { ground_truth: "a" } },
        { solution_str: "b", ground_truth: "b" },
      ),
    );
    const { stdout } = await cli(["reward", "run", "--data", "dump.jsonl", ...OVERRIDES, "--json"], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({ score: { mean: 2 / 3 }, previous: { mean: 1, changed: 3 } });
  });

  it("takes the manager by its key, with its options", async () => {
    const cwd = folder();
    const dapo = ["--manager", "dapo", "+reward_model.reward_kwargs.max_resp_len=4"];
    const buffer = ["+reward_model.reward_kwargs.overlong_buffer_cfg={enable: true, len: 2}"];
    const argv = ["reward", "run", "--data", "dump.jsonl", ...OVERRIDES, ...dapo, ...buffer, "--json"];
    const { stdout, stderr } = await cli(argv, { cwd });
    expect(stderr).toBe("");
    // Lengths in characters: two answers have three of the four.
    expect(JSON.parse(stdout)).toMatchObject({ manager: "dapo", score: { min: -0.5, max: 1 } });
  });

  it("says what is wrong with the file, the key or the options", async () => {
    const cwd = folder(lines({ data_source: "letters" }));
    const base = ["reward", "run", "--data", "dump.jsonl", ...OVERRIDES];
    expect(await cli(base, { cwd })).toMatchObject({ code: 2, stderr: expect.stringContaining("has no answer") });
    const missing = await cli(["reward", "run", "--data", "none.jsonl"], { cwd });
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("VERL_DATA_FILE_MISSING") });
    const misspelt = await cli([...base, "--manager", "prim"], { cwd });
    expect(misspelt).toMatchObject({ code: 2, stderr: expect.stringContaining("prime") });
    const option = await cli([...base, "+reward_model.reward_kwargs.max_concurent=1"], { cwd });
    expect(option).toMatchObject({ code: 2, stderr: expect.stringContaining("max_concurrent") });
    expect((await cli(["reward", "run"], { cwd })).code).toBe(2);
  });
});
