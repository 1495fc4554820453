import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, jest } from "@jest/globals";
import type { DataCheck } from "../../core/cli/data-check-report.ts";
import { readParquet } from "../../core/data/parquet/read-parquet.ts";
import { cli } from "../cli/helpers.ts";
import { folderWith } from "../data/helpers.ts";

// The first command loads every built-in, slowly on a busy machine.
jest.setTimeout(300_000);

const SUMS = "examples/data/sums.jsonl";
const out = folderWith({});

type Preprocess = (input: string, output: string) => Promise<number>;

/** A script that people run with plain Node, so it has no types. */
async function preprocess(script: string, output: string): Promise<number> {
  const module = (await import(`../../examples/data/${script}`)) as { preprocess: Preprocess };
  return module.preprocess(SUMS, output);
}

const codeLines = (file: string): number =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("//")).length;

describe("examples/data", () => {
  it.each(["gsm8k.mjs", "tool-use.mjs"])("%s is twenty lines", (script) => {
    expect(codeLines(`examples/data/${script}`)).toBeLessThanOrEqual(20);
  });

  it("gsm8k.mjs and the mapping make the same rows, whose own answers score 1", async () => {
    const [byScript, byMapping] = [join(out, "script.parquet"), join(out, "mapping.parquet")];
    expect(await preprocess("gsm8k.mjs", byScript)).toBe(4);
    const args = ["data", "convert", SUMS, "--map", "examples/data/sums.yaml", "--out", byMapping];
    expect((await cli(args)).code).toBe(0);
    const rows = await readParquet(byScript);
    expect(await readParquet(byMapping)).toEqual(rows);
    expect(rows[1]).toMatchObject({ reward_model: { ground_truth: "1240" }, extra_info: { index: 1 } });
    const { code, stdout } = await cli(["data", "check", byScript, "--answers", "extra_info.answer", "--json"]);
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as DataCheck;
    expect(report.findings).toEqual([]);
    expect(report.scores).toMatchObject({ mean: 1, scored: 4, unscored: 0 });
  });

  it("tool-use.mjs makes rows for the tool agent, whose tools file can be read", async () => {
    const file = join(out, "tools.parquet");
    await preprocess("tool-use.mjs", file);
    const [first] = await readParquet(file);
    expect(first).toMatchObject({
      agent_name: "tool_agent",
      prompt: [{ role: "system" }, { role: "user" }],
      extra_info: { tools_kwargs: { calc_gsm8k_reward: { create_kwargs: { ground_truth: "55" } } } },
    });
    const option = "actor_rollout_ref.rollout.multi_turn.tool_config_path=examples/data/tools.yaml";
    const { code, stderr } = await cli(["data", "check", file, option]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});
