import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it, jest } from "@jest/globals";

// Each run is a process of its own, whose ranks compile their graphs anew.
jest.setTimeout(600_000);

const BIN = join(import.meta.dirname, "../../dist/bin.js");
const MODEL = join(import.meta.dirname, "../../examples/sort-letters/model");

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "verl-thread-"));
  const problems = ["dcb", "zya", "kmx", "qpo", "bac", "tsu", "hgf", "wvu"];
  const rows = problems.map((problem) => ({
    data_source: "letters",
    prompt: [{ role: "user", content: problem }],
    reward_model: { ground_truth: [...problem].sort().join("") },
  }));
  writeFileSync(join(folder, "train.jsonl"), rows.map((row) => JSON.stringify(row)).join("\n"));
  writeFileSync(
    join(folder, "reward.ts"),
    `export const compute_score = ({ solution_str }: { solution_str: string }): number =>
  [...solution_str].filter((letter) => letter < "m").length / 4;`,
  );
  writeFileSync(
    join(folder, "run.yaml"),
    `data:
  train_files: train.jsonl
  val_files: train.jsonl
  train_batch_size: 8
  max_prompt_length: 8
  max_response_length: 5
actor_rollout_ref:
  model:
    path: ${MODEL}
    override_config: {hidden_size: 16, intermediate_size: 24, num_hidden_layers: 1, num_attention_heads: 2, num_key_value_heads: 2, head_dim: 8}
  actor:
    ppo_mini_batch_size: 4
    ppo_micro_batch_size_per_gpu: 4
    shuffle: true
    use_kl_loss: true
    optim: { lr: 0.01, eps: 1.0e-4 } # Adam would make a large step of a gradient that is all rounding
  ref: { log_prob_micro_batch_size_per_gpu: 4 }
  rollout: { n: 4, log_prob_micro_batch_size_per_gpu: 4 }
critic:
  ppo_micro_batch_size_per_gpu: 4
  ppo_epochs: 2
  shuffle: true
  optim: { lr: 0.01, eps: 1.0e-4 }
algorithm: { adv_estimator: gae }
custom_reward_function: { path: reward.ts }
trainer:
  total_training_steps: 3
  val_before_train: false
  test_freq: 3
  save_freq: 3
  logger: []
`,
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Metrics of a run, by step, without what depends on the clock, on the process, and on how many ranks share the rows. */
async function train(name: string, overrides: readonly string[]): Promise<Record<string, number>[]> {
  const args = ["train", "run.yaml", `trainer.default_local_dir=${name}`, ...overrides];
  await promisify(execFile)(process.execPath, [BIN, ...args], { cwd: folder });
  const lines = readFileSync(join(folder, name, "metrics.jsonl"), "utf8")
    .trim()
    .split("\n");
  const incidental = /^(timing_|perf\/|global_seqlen\/|.*(generate_sequences|time_s|slowest)\/?)/;
  return lines.map((line) => {
    const { data } = JSON.parse(line) as { data: Record<string, number> };
    return Object.fromEntries(Object.entries(data).filter(([metric]) => !incidental.test(metric)));
  });
}

const onThreads = (ranks: number): string[] => ["controller.transport=thread", `trainer.n_gpus_per_node=${ranks}`];

it("trains on threads with the same losses and metrics for 1, 2 and 4 ranks, and bit-equal run to run", async () => {
  const [inline, one, two, four, again] = [
    await train("inline", []),
    await train("one", onThreads(1)),
    await train("two", onThreads(2)),
    await train("four", onThreads(4)),
    await train("again", onThreads(2)),
  ];
  expect(Object.keys(inline[0]!).length).toBeGreaterThan(60);
  expect(one).toEqual(inline);
  expect(again).toEqual(two);
  for (const ranks of [two, four]) {
    expect(ranks.map((step) => Object.keys(step).sort())).toEqual(inline.map((step) => Object.keys(step).sort()));
    ranks.forEach((step, index) => {
      for (const [metric, value] of Object.entries(step)) {
        const expected = inline[index]![metric]!;
        const gap = Math.abs(value - expected) / Math.max(1, Math.abs(expected));
        expect([index, metric, value, expected, gap < 1e-4]).toEqual([index, metric, value, expected, true]);
      }
    });
  }
});
