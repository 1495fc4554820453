import { writeFileSync } from "node:fs";
import { beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { registries } from "../../core/registry/index.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { remax } from "../../plugins/advantage/remax.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { metricsOf } from "./support/read-run.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

/** What the estimator was given, by step. */
let given: { uid: readonly string[]; baselines: number[] }[] = [];

beforeAll(() => {
  registerBuiltIns();
  registries.adv_estimator.register("test-remax", {
    ...remax,
    compute(input, config, ctx) {
      given.push({ uid: input.uid, baselines: Array.from((input["reward_baselines"] as { data: Float32Array }).data) });
      return remax.compute(input, config, ctx);
    },
  });
});
beforeEach(() => {
  given = [];
});

async function train(folder: string, overrides: readonly string[]) {
  const common = ["algorithm.adv_estimator=test-remax", "trainer.total_training_steps=2", "data.shuffle=false"];
  const trainer = await PpoTrainer.create(ppoConfig(folder, [...common, ...overrides]), { stream: recordingStream() });
  const { directory } = await trainer.fit();
  return metricsOf(directory).map(({ data }) => data);
}

describe("ReMax", () => {
  it("[B-30] compares with the greedy answer to the same prompt, scored by the same reward", async () => {
    const folder = runFolder();
    // Validation is greedy too, and its two prompts are those of the first step.
    const [before, first, second] = await train(folder, [
      `data.val_files=${folder}/val.jsonl`,
      "trainer.val_before_train=true",
      "actor_rollout_ref.rollout.temperature=2",
    ]);
    expect(first!["gen_max/score/mean"]).toBeCloseTo(before!["val-core/letters/reward/mean@1"]!, 6);
    for (const { uid, baselines } of given) {
      expect(baselines).toHaveLength(8);
      expect(new Map(uid.map((name, row) => [name, baselines[row]])).size).toBe(2);
      uid.forEach((name, row) => expect(baselines[row]).toBe(baselines[uid.indexOf(name)]));
    }
    const mean = given[0]!.baselines.reduce((sum, value) => sum + value, 0) / 8;
    expect(mean).toBeCloseTo(first!["gen_max/score/mean"]!, 6);
    for (const data of [first!, second!]) {
      expect(data).toHaveProperty(["timing_s/gen_max"]);
      expect(data).toHaveProperty(["gen_max/reward/long/mean"]);
      expect(data["advantage/missing_baselines"]).toBe(0);
    }
  });

  it("gives a row whose greedy answer has no score no advantage", async () => {
    const folder = runFolder();
    // The greedy answer to the second prompt is scored after its four sampled ones.
    const reward = `let calls = 0;
export const compute_score = ({ ground_truth }) => (ground_truth === "ayz" && ++calls === 5 ? NaN : 1);`;
    writeFileSync(`${folder}/reward.mjs`, reward);
    const [first] = await train(folder, ["reward_model.max_unscored_fraction=0.5"]);
    expect(given[0]!.baselines).toEqual([1, 1, 1, 1, NaN, NaN, NaN, NaN]);
    expect(first!["advantage/missing_baselines"]).toBe(0.5);
    expect(first!["gen_max/reward/unscored"]).toBe(1);
    expect(first!["reward/unscored"]).toBe(0);
  });
});
