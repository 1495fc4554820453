import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig, type PpoConfig, type SftConfig } from "../../../core/config/index.ts";

/** The example's tokenizer under a model of one layer and 16 dimensions, with random weights. */
const MODEL = [
  "path=examples/sort-letters/model",
  "override_config={hidden_size: 16, intermediate_size: 24, num_hidden_layers: 1, num_attention_heads: 2, num_key_value_heads: 2, head_dim: 8}",
];

/** A reward that differs from answer to answer, with a part beside the score. */
const REWARD = `export function compute_score({ solution_str }) {
  return { score: [...solution_str].filter((letter) => letter < "m").length / 4, long: solution_str.length > 2 };
}`;

const jsonLines = (rows: readonly unknown[]): string => rows.map((row) => JSON.stringify(row)).join("\n");

const question = (problem: string, index: number) => ({
  data_source: "letters",
  prompt: [{ role: "user", content: problem }],
  reward_model: { ground_truth: [...problem].sort().join("") },
  extra_info: { index },
  weight: index / 2,
});

const conversation = (problem: string) => ({
  messages: [
    { role: "user", content: problem },
    { role: "assistant", content: [...problem].sort().join("") },
  ],
});

const PROBLEMS = ["dcb", "zya", "kmx", "qpo", "bac", "tsu"];

/** A fresh folder with data, a reward file, and room for runs. */
export function runFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "verl-train-"));
  writeFileSync(join(folder, "train.jsonl"), jsonLines(PROBLEMS.map(question)));
  writeFileSync(join(folder, "val.jsonl"), jsonLines(PROBLEMS.slice(0, 2).map(question)));
  writeFileSync(join(folder, "sft.jsonl"), jsonLines(PROBLEMS.map(conversation)));
  writeFileSync(join(folder, "reward.mjs"), REWARD);
  return folder;
}

/** Two prompts × 4 answers a step, one optimizer step; two steps an epoch would be left over at three. */
export function ppoConfig(folder: string, overrides: readonly string[] = []): PpoConfig {
  return loadConfig({
    schema: "ppo",
    overrides: [
      `data.train_files=${folder}/train.jsonl`,
      "data.val_files=[]",
      "data.train_batch_size=2",
      "data.max_prompt_length=8",
      "data.max_response_length=5",
      ...MODEL.map((override) => `actor_rollout_ref.model.${override}`),
      "actor_rollout_ref.actor.ppo_mini_batch_size=2",
      "actor_rollout_ref.actor.optim.lr=0.01",
      "actor_rollout_ref.actor.loss_agg_mode=test-token-mean",
      "actor_rollout_ref.actor.policy_loss.loss_mode=test-pg",
      "actor_rollout_ref.actor.kl_loss_type=test-k1",
      "actor_rollout_ref.rollout.n=4",
      "algorithm.adv_estimator=test-centred",
      "algorithm.kl_penalty=test-k1",
      `custom_reward_function.path=${folder}/reward.mjs`,
      "trainer.total_training_steps=3",
      "trainer.logger=[]",
      "trainer.val_before_train=false",
      `trainer.default_local_dir=${folder}/run`,
      "tensor_backend=ort",
      ...overrides,
    ],
  }).config;
}

export function sftConfig(folder: string, overrides: readonly string[] = []): SftConfig {
  return loadConfig({
    schema: "sft",
    overrides: [
      `data.train_files=${folder}/sft.jsonl`,
      "data.val_files=[]",
      "data.train_batch_size=4",
      "data.micro_batch_size_per_gpu=4",
      "data.max_length=12",
      ...MODEL.map((override) => `model.${override}`),
      "optim.lr=0.01",
      "trainer.total_training_steps=4",
      "trainer.logger=[]",
      `trainer.default_local_dir=${folder}/sft`,
      "tensor_backend=ort",
      ...overrides,
    ],
  }).config;
}

/** Keeps what a run writes to its terminal. */
export function recordingStream(): { write: (text: string) => void; text: () => string } {
  let all = "";
  return { write: (text) => void (all += text), text: () => all };
}
