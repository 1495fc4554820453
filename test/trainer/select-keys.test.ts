import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it, jest } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { createLogger, loadPlugin } from "../../core/registry/index.ts";
import { activateBackend } from "../../core/tensor/backend.ts";
import { forUpdate } from "../../core/trainer/balance.ts";
import { RunEnd } from "../../core/trainer/run-end.ts";
import { openPpoSite } from "../../core/trainer/run-site.ts";
import { StepMetrics } from "../../core/trainer/metrics/step-metrics.ts";
import { ActorRolloutRefWorker } from "../../core/trainer/workers/actor-rollout-ref-worker.ts";
import { registerAll, trainFully } from "./support/full-run.ts";
import { ppoConfig, runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

const MARKED = [
  "reward_model.reward_manager=marked",
  "actor_rollout_ref.actor.policy_loss.loss_mode=marked",
  "actor_rollout_ref.actor.select_keys=[mark, responses]",
];

beforeAll(async () => {
  registerAll();
  // As `plugins: [./marked.ts]` of a config beside it.
  await loadPlugin("./marked.ts", { configFile: join(import.meta.dirname, "fixtures/run.yaml") });
});

/** The tiny run's folder, its rows marked 1, 2, 3, … */
function markedFolder(): string {
  const folder = runFolder();
  const rows = readFileSync(`${folder}/train.jsonl`, "utf8").trim().split("\n");
  const marked = rows.map((row, index) => JSON.stringify({ ...(JSON.parse(row) as object), mark: index + 1 }));
  writeFileSync(`${folder}/train.jsonl`, marked.join("\n"));
  return folder;
}

it.each([
  ["whole", 1, ["ppo_mini_batch_size=6"]],
  ["in mini- and micro-batches", 6, ["ppo_mini_batch_size=1", "ppo_micro_batch_size_per_gpu=2"]],
  ["shuffled", 3, ["ppo_mini_batch_size=2", "shuffle=true", "ppo_micro_batch_size_per_gpu=4"]],
  ["reordered by tokens", 1, ["ppo_mini_batch_size=6", "use_dynamic_bsz=true", "ppo_max_token_len_per_gpu=30"]],
])("hands a plugin's loss the reward and a column of the data row for row, %s", async (_how, updates, cutting) => {
  const { steps } = await trainFully(markedFolder(), [
    ...MARKED,
    ...cutting.map((option) => `actor_rollout_ref.actor.${option}`),
    "data.train_batch_size=6",
    "trainer.total_training_steps=1",
  ]);
  const { data } = steps[0]!;
  expect(data["test/gap"]).toBe(0);
  // Metrics are means over the updates; each of the six prompts has four answers.
  expect(data["test/rows"]! * updates).toBe(24);
  expect(data["test/marks"]! * updates).toBeCloseTo(4 * (1 + 2 + 3 + 4 + 5 + 6), 4);
});

it("keeps rows together when they are spread over ranks, with padding", async () => {
  const config = ppoConfig(runFolder(), [
    ...MARKED,
    "actor_rollout_ref.actor.loss_agg_mode=token-mean",
    "algorithm.adv_estimator=grpo",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2",
  ]);
  await activateBackend("ort");
  const site = await openPpoSite(config, {
    directory: ".",
    log: createLogger({ write: () => undefined }),
    metrics: new StepMetrics(),
    end: new RunEnd(),
  });
  const length = { steps: 1, updatesPerStep: 2 };
  const group = await WorkerGroup.create(
    ActorRolloutRefWorker,
    [{ config, directory: ".", length, role: "actor_rollout" }],
    { worldSize: 3, local: site },
  );
  await group.initModel();
  try {
    const batch = markedBatch(10);
    const results = await group.updateActor(forUpdate(batch, { ranks: 3, balance: true, miniBatchRows: 8 }), {
      step: 1,
    });
    expect(results).toHaveLength(3);
    // All ranks report of all rows: the means over two updates, of eight rows and of two.
    for (const result of results) {
      expect(result["test/gap"]).toBe(0);
      expect(result["test/rows"]! * 2).toBe(10);
      expect(result["test/marks"]! * 2).toBe(55);
    }
  } finally {
    await group.dispose();
  }
});

/** Rows marked 1, 2, 3, …, each with its reward of 1000 · mark + first token. */
function markedBatch(rows: number): DataProto {
  const [prompt, response] = [8, 5];
  const ints = (width: number, value: (row: number, at: number) => number) =>
    new NdArray(
      "int32",
      [rows, width],
      Int32Array.from({ length: rows * width }, (_, i) => value(Math.floor(i / width), i % width)),
    );
  const floats = (value: (row: number, at: number) => number) =>
    new NdArray("float32", [rows, response], Float32Array.from(ints(response, value).data));
  const token = (row: number, at: number): number => 10 + row + at;
  return DataProto.fromSingleDict({
    input_ids: ints(prompt + response, token),
    attention_mask: ints(prompt + response, () => 1),
    position_ids: ints(prompt + response, (_row, at) => at),
    responses: ints(response, (row, at) => token(row, prompt + at)),
    response_mask: ints(response, () => 1),
    old_log_probs: floats(() => -4),
    advantages: floats((row) => row - 4),
    token_level_rewards: floats((row, at) => (at === response - 1 ? 1000 * (row + 1) + token(row, prompt) : 0)),
    mark: new NdArray(
      "float32",
      [rows],
      Float32Array.from({ length: rows }, (_, row) => row + 1),
    ),
  });
}
