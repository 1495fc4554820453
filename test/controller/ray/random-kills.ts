/*
 * `node scripts/ray/in-namespace.mjs node --import tsx test/controller/ray/random-kills.ts [runs] [seed]`: starts a training run again and again
 * on a cluster and kills a random one of its processes at a random time. Each run must end within 30 s, leave no process, and go on
 * from a checkpoint that is good.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { actors, drivers, end, ranks, startCluster, until, type Running } from "./support/cluster.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const runs = Number(process.argv[2] ?? 200);
let state = Number(process.argv[3] ?? 1);
/** In [0, 1), from a linear congruential generator. */
const random = (): number => (state = (state * 1664525 + 1013904223) % 2 ** 32) / 2 ** 32;

const cluster = startCluster({ cpus: 4 });
const folder = mkdtempSync(join(tmpdir(), "verl-kills-"));
const latest = join(folder, "out/latest_checkpointed_iteration.txt");
const checkpointed = (): number => (existsSync(latest) ? Number(readFileSync(latest, "utf8")) : 0);

writeRun();
const ends: number[] = [];
try {
  for (let run = 1; run <= runs; run++) {
    const before = checkpointed();
    const controller = train();
    // Loading the checkpoint and saving the next shows that it is good.
    await until(() => checkpointed() > before || controller.exited(), 120, `a step after ${before}`);
    if (controller.exited()) throw new Error(`Run ${run} ended by itself:\n${controller.output()}`);
    await new Promise((resolve) => setTimeout(resolve, random() * 2000));
    const kinds: Record<string, () => Running[]> = {
      rank: ranks,
      actor: actors,
      driver: drivers,
      controller: () => [{ pid: controller.pid, parent: 0, words: "" }],
    };
    const kind = Object.keys(kinds)[Math.floor(random() * 4)]!;
    const victims = kinds[kind]!();
    const start = Date.now();
    end(victims[Math.floor(random() * victims.length)]!.pid);
    await until(() => controller.exited(), 30, `the end of run ${run} after the ${kind} was killed`);
    await until(
      () => ranks().length + actors().length + drivers().length === 0,
      30,
      `no orphan of run ${run} (${kind})`,
    );
    ends.push((Date.now() - start) / 1000);
    console.log(`${run}: ${kind} killed after step ${checkpointed()}; all ended after ${ends.at(-1)!.toFixed(1)} s`);
  }
  ends.sort((a, b) => a - b);
  console.log(
    `${runs} kills, no hang, no orphan; ended after ${ends[ends.length >> 1]} s (median), ${ends.at(-1)} s (most)`,
  );
} finally {
  cluster.stop();
  rmSync(folder, { recursive: true, force: true });
}

function train(): { pid: number; exited: () => boolean; output: () => string } {
  const overrides = ["controller.transport=ray", `controller.ray.address=${cluster.address}`];
  const words = ["train", "run.yaml", ...overrides, `controller.ray.python=${cluster.python}`];
  const run = spawn(process.execPath, [join(root, "dist/bin.js"), ...words], { cwd: folder });
  let text = "";
  for (const stream of [run.stdout, run.stderr]) stream.on("data", (part: Buffer) => (text += part.toString()));
  let over = false;
  run.once("close", () => (over = true));
  return { pid: run.pid!, exited: () => over, output: () => text };
}

function writeRun(): void {
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
  writeFileSync(
    join(folder, "run.yaml"),
    `data: { train_files: train.jsonl, val_files: train.jsonl, train_batch_size: 4, max_prompt_length: 8, max_response_length: 5 }
actor_rollout_ref:
  model:
    path: ${join(root, "examples/sort-letters/model")}
    override_config: {hidden_size: 16, intermediate_size: 24, num_hidden_layers: 1, num_attention_heads: 2, num_key_value_heads: 2, head_dim: 8}
  actor: { ppo_mini_batch_size: 4, ppo_micro_batch_size_per_gpu: 4 }
  rollout: { n: 2, log_prob_micro_batch_size_per_gpu: 4 }
algorithm: { adv_estimator: grpo }
custom_reward_function: { path: reward.ts }
trainer: { total_training_steps: 100000, total_epochs: 100000, val_before_train: false, test_freq: -1, save_freq: 1, logger: [], n_gpus_per_node: 2, default_local_dir: out, max_actor_ckpt_to_keep: 2 }
`,
  );
}
