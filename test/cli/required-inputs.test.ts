import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";
import { requireInputs } from "../../core/cli/required-inputs.ts";
import { loadConfig } from "../../core/config/index.ts";
import { cli } from "./helpers.ts";

const cwd = mkdtempSync(join(tmpdir(), "verl-cli-inputs-"));
writeFileSync(join(cwd, "train.jsonl"), "");
mkdirSync(join(cwd, "model"));
afterAll(() => rmSync(cwd, { recursive: true }));

it("tells a run without arguments all that it needs, with an example of each way", async () => {
  const { code, stdout, stderr } = await cli(["train"], { cwd });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toBe(
    [
      "VERL_CONFIG_MISSING  data.train_files",
      "`verl train` was not told what to train: data.train_files, data.val_files and actor_rollout_ref.model.path are not set, and there is nothing at the default.",
      "Name a config file that sets them, or set them on the command line:",
      "  verl train run.yaml",
      "  verl train data.train_files=train.parquet data.val_files=null actor_rollout_ref.model.path=models/qwen3",
      "",
    ].join("\n"),
  );
});

it("names the keys of the command in use, and those that are missing alone", async () => {
  const { code, stderr } = await cli(["sft", "data.train_files=train.jsonl", "data.val_files=null"], { cwd });
  expect(code).toBe(2);
  expect(stderr).toContain("`verl sft` was not told what to train: model.path is not set");
  expect(stderr).toContain("  verl sft model.path=models/qwen3");
});

it.each([
  [
    "all is set, there or not",
    ["data.train_files=gone.jsonl", "data.val_files=[]", "actor_rollout_ref.model.path=gone"],
  ],
  ["a plugin reads no files", ["data.dataset=other", "actor_rollout_ref.model.path=model"]],
  ["a class of the user reads the data", ["data.custom_cls.path=mine.ts", "actor_rollout_ref.model.path=model"]],
])("has nothing to say where %s", (_, overrides) => {
  const loaded = loadConfig({ schema: "ppo", directory: cwd, overrides: [...overrides] });
  expect(() => requireInputs(loaded)).not.toThrow();
});
