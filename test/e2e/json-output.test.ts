import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, jest } from "@jest/globals";

jest.setTimeout(300_000);

const BIN = join(import.meta.dirname, "../../dist/bin.js");
const MODEL = join(import.meta.dirname, "../../examples/sort-letters/model");

let folder: string;

// Whatever of the user's code there is prints, as it loads and as it works.
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "verl-json-"));
  const rows = ["dcb", "zya", "kmx", "qpo"].map((problem) => ({
    data_source: "letters",
    prompt: [{ role: "user", content: problem }],
    reward_model: { ground_truth: [...problem].sort().join("") },
    output: problem,
  }));
  write("rows.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  write(
    "reward.mjs",
    `console.log("the reward file loads");
export function compute_score({ solution_str }) {
  console.log("scoring");
  process.stdout.write("a piece of a line\\n");
  return solution_str.length / 4;
}`,
  );
  write(
    "plugin.mjs",
    `import { definePlugin } from "verl";
console.log("the plugin loads");
export default definePlugin({ name: "verl-plugin-talks", version: "1.0.0", verl: "^0.1", provides: [] });`,
  );
  write(
    "dataset.mjs",
    `import { readFileSync } from "node:fs";
export class Talks {
  constructor() {
    this.rows = readFileSync("rows.jsonl", "utf8").split("\\n").map((line) => JSON.parse(line));
  }
  async load() { console.log("the dataset loads"); }
  get length() { return this.rows.length; }
  item(index) { return this.rows[index]; }
}`,
  );
  write(
    "run.yaml",
    `custom_reward_function: { path: reward.mjs }
reward_model: { num_workers: 1 }
data:
  train_files: rows.jsonl
  val_files: []
  train_batch_size: 4
  max_prompt_length: 8
  max_response_length: 5
actor_rollout_ref:
  model:
    path: ${MODEL}
    override_config: {hidden_size: 16, intermediate_size: 24, num_hidden_layers: 1, num_attention_heads: 2, num_key_value_heads: 2, head_dim: 8}
  actor: { ppo_mini_batch_size: 4, ppo_micro_batch_size_per_gpu: 4 }
  rollout: { n: 2, log_prob_micro_batch_size_per_gpu: 4 }
trainer:
  total_training_steps: 1
  val_before_train: false
  test_freq: -1
  save_freq: -1
  default_local_dir: run
`,
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

const verl = (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, [BIN, ...args], { cwd: folder });

it.each([
  ["in this process", []],
  ["in processes", ["reward_model.reward_manager=prime"]],
  ["in threads", ["reward_model.reward_manager=prime", "+reward_model.reward_kwargs.isolation=thread"]],
])("verl reward run --json has stdout for itself, functions %s", async (_, overrides) => {
  const { stdout, stderr } = await verl(
    "reward",
    "run",
    "--data",
    "rows.jsonl",
    "-c",
    "run.yaml",
    "--json",
    ...overrides,
  );
  expect(JSON.parse(stdout)).toMatchObject({ rows: 4, scored: 4 });
  for (const text of ["the reward file loads", "scoring", "a piece of a line"]) expect(stderr).toContain(text);
});

it("without --json the user's code prints where it likes", async () => {
  const { stdout } = await verl("reward", "run", "--data", "rows.jsonl", "-c", "run.yaml");
  expect(stdout).toContain("scoring");
});

it.each([
  ["in one process", []],
  ["on threads", ["controller.transport=thread", "reward_model.reward_manager=prime"]],
])("verl train --json has stdout for itself, %s", async (_, overrides) => {
  const { stdout, stderr } = await verl("train", "run.yaml", "--json", ...overrides);
  expect(JSON.parse(stdout)).toMatchObject({ step: 1 });
  expect(stderr).toContain("scoring");
});
