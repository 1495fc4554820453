import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Cluster } from "./cluster.ts";

const root = join(import.meta.dirname, "../../../..");

/** A controller's process. */
export interface Controller {
  readonly pid: number;
  exited(): boolean;
  /** All that it has written. */
  output(): string;
}

/** Starts a program of this Node.js. */
export function startNode(args: readonly string[], cwd: string): Controller {
  const child = spawn(process.execPath, args, { cwd });
  let [text, over] = ["", false];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part: Buffer) => (text += part.toString()));
  child.once("close", () => (over = true));
  return { pid: child.pid!, exited: () => over, output: () => text };
}

/** A run of two ranks on almost nothing, which saves a checkpoint each step and goes on from the last, in a folder of its own. */
export class Training {
  constructor(
    private readonly folder: string,
    private readonly cluster: Cluster,
  ) {
    const rows = ["dcb", "zya", "kmx", "qpo"].map((problem) => ({
      data_source: "letters",
      prompt: [{ role: "user", content: problem }],
      reward_model: { ground_truth: [...problem].sort().join("") },
    }));
    writeFileSync(join(folder, "train.jsonl"), rows.map((row) => JSON.stringify(row)).join("\n"));
    writeFileSync(
      join(folder, "reward.ts"),
      "export const compute_score = ({ solution_str }: { solution_str: string }): number => solution_str.length;\n",
    );
    writeFileSync(join(folder, "run.yaml"), CONFIG);
  }

  /** Step of the last checkpoint. */
  get saved(): number {
    const latest = join(this.folder, "out/latest_checkpointed_iteration.txt");
    return existsSync(latest) ? Number(readFileSync(latest, "utf8")) : 0;
  }

  start(): Controller {
    const { address, python } = this.cluster;
    const ray = ["controller.transport=ray", `controller.ray.address=${address}`, `controller.ray.python=${python}`];
    return startNode([join(root, "dist/bin.js"), "train", "run.yaml", ...ray], this.folder);
  }
}

const CONFIG = `data: { train_files: train.jsonl, val_files: train.jsonl, train_batch_size: 4, max_prompt_length: 8, max_response_length: 5 }
actor_rollout_ref:
  model:
    path: ${join(root, "examples/sort-letters/model")}
    override_config: {hidden_size: 16, intermediate_size: 24, num_hidden_layers: 1, num_attention_heads: 2, num_key_value_heads: 2, head_dim: 8}
  actor: { ppo_mini_batch_size: 4, ppo_micro_batch_size_per_gpu: 4 }
  rollout: { n: 2, log_prob_micro_batch_size_per_gpu: 4 }
algorithm: { adv_estimator: grpo }
custom_reward_function: { path: reward.ts }
trainer: { total_training_steps: 100000, total_epochs: 100000, val_before_train: false, test_freq: -1, save_freq: 1, logger: [], n_gpus_per_node: 2, default_local_dir: out, max_actor_ckpt_to_keep: 2 }
`;
