import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, jest } from "@jest/globals";

// Two processes that each compile their graphs, on machines that may be busy.
jest.setTimeout(300_000);

const ROOT = join(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "verl-tools-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const node = (...args: string[]): string =>
  execFileSync(process.execPath, args, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

interface Line {
  step: number;
  data: Record<string, number>;
}

/** A row of rollouts.jsonl. */
interface Rollout {
  step: number;
  tokens: string[];
  mask: number[];
}

it("learns to call the calculator within a few steps of the example", () => {
  node("examples/tool-calculator/make-data.mjs", "--out", join(folder, "data"));
  node(
    ...["dist/bin.js", "sft", "examples/tool-calculator/sft.yaml", "--seed", "0", "--json"],
    `data.train_files=${folder}/data/sft.parquet`,
    `trainer.default_local_dir=${folder}/sft`,
  );
  node(
    ...["dist/bin.js", "train", "examples/tool-calculator/grpo.yaml", "--seed", "0", "--json"],
    `data.train_files=${folder}/data/train.parquet`,
    `data.val_files=${folder}/data/validation.parquet`,
    `actor_rollout_ref.model.path=${folder}/sft/huggingface`,
    `trainer.default_local_dir=${folder}/grpo`,
    "data.val_max_samples=128",
    "data.train_batch_size=32",
    "actor_rollout_ref.actor.ppo_mini_batch_size=16",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=128",
    "trainer.total_training_steps=6",
    "trainer.val_before_train=false",
    "trainer.test_freq=-1",
    "trainer.save_freq=-1",
  );
  const steps = readFileSync(join(folder, "grpo/metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line)
    .filter(({ step }) => step > 0)
    .map(({ data }) => data);
  expect(steps).toHaveLength(6);
  const first = steps[0]!;
  expect(first["reward/called/mean"]).toBeGreaterThan(0.1);
  expect(first["agent_loop/num_turns/max"]).toBeGreaterThanOrEqual(4);
  expect(first["agent_loop/template_drift"]).toBe(0);
  expect(first["agent_loop/dropped_groups"]).toBe(0);
  // The call is not rewarded, only what comes of it; it grows from the right answers alone.
  expect(steps.at(-1)!["reward/called/mean"]).toBeGreaterThan(first["reward/called/mean"]! + 0.1);
  expect(steps.at(-1)!["critic/score/mean"]).toBeGreaterThan(first["critic/score/mean"]!);

  const rollouts = readFileSync(join(folder, "grpo/rollouts.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Rollout);
  const called = rollouts.filter(({ tokens }) => tokens.includes("<tool_response>"));
  expect(called.length).toBeGreaterThan(0);
  for (const { tokens, mask } of called) {
    const [from, to] = [tokens.indexOf("<tool_response>"), tokens.indexOf("</tool_response>")];
    expect(mask.slice(from, to + 1).every((bit) => bit === 0)).toBe(true);
    expect(mask.slice(0, from).every((bit) => bit === 1)).toBe(true);
  }
});
