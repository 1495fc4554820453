import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { loadConfig } from "../../core/config/index.ts";
import { registries, resolveOptions } from "../../core/registry/index.ts";
import { countGroups, judgeGroups } from "../../core/trainer/filter-groups-judge.ts";
import { registerAll, trainFully } from "./support/full-run.ts";
import { runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

let stop = new AbortController();

beforeAll(() => {
  registerAll();
  registries.tracker.register("test-stop", {
    description: "Asks the run to stop after its first step.",
    create: class {
      log(): void {
        stop.abort();
      }
    },
  });
});

describe("a group", () => {
  it.each([
    ["of different answers is kept", [0, 1, 0], "kept"],
    ["that differs in the last digit alone is kept", [0.1, 0.1, 0.1 + Number.EPSILON / 8], "kept"],
    ["of equal answers is dropped, whatever rounding makes of its deviation", [0.1, 0.1, 0.1], "all_same"],
    ["of zeros is dropped", [0, 0], "all_0"],
    ["of ones is dropped", [1, 1, 1], "all_1"],
    ["is judged by the answers that have a value", [1, null, 1], "all_1"],
    ["of one known answer among several is dropped", [null, 0.5], "all_same"],
    ["without a value is dropped", [null, null], "unscored"],
    ["of one answer has nothing to differ from, and is kept", [1], "kept"],
  ])("%s", (_what, values, verdict) => {
    expect(
      judgeGroups(
        values.map(() => "a"),
        values,
      ),
    ).toEqual([{ uid: "a", verdict }]);
  });

  it("is told by its uid, wherever its rows are", () => {
    const judged = judgeGroups(["b", "a", "b", "a"], [1, 1, 0, 1]);
    expect(judged).toEqual([
      { uid: "b", verdict: "kept" },
      { uid: "a", verdict: "all_1" },
    ]);
    expect(countGroups(judged, countGroups(judged))).toMatchObject({ sampled: 4, kept: 2, all_1: 2, all_0: 0 });
  });
});

interface LoggedRow {
  step: number;
  uid: string;
  gts: string;
  score: number;
  reward: Record<string, unknown>;
  output: string;
}

const rollouts = (directory: string): LoggedRow[] =>
  readFileSync(`${directory}/rollouts.jsonl`, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as LoggedRow);

/** Half of the prompts are worth the same however they are answered; `part` is the answer, so that mixed up rows show. */
function folderOf(score = `ground_truth < "d" ? 1 : solution_str.length + solution_str.charCodeAt(0) / 1000`): string {
  const folder = runFolder();
  writeFileSync(
    `${folder}/reward.mjs`,
    `export const compute_score = ({ solution_str, ground_truth }) => ({ score: ${score}, part: solution_str });`,
  );
  return folder;
}

const filter = (...options: readonly string[]) => [
  "algorithm.filter_groups.enable=true",
  ...options.map((option) => (option.includes(".") ? option : `algorithm.filter_groups.${option}`)),
];

describe("dynamic sampling", () => {
  it("trains each step on as many groups of different answers as it was told, and counts what it took", async () => {
    const { result, steps } = await trainFully(folderOf(), filter("trainer.total_training_steps=4"));
    const rows = rollouts(result.directory);
    for (const { step, data } of steps) {
      const own = rows.filter((row) => row.step === step);
      expect(own).toHaveLength(8);
      const groups = new Set(own.map(({ uid }) => uid));
      expect(groups.size).toBe(2);
      for (const uid of groups) {
        expect(new Set(own.filter((row) => row.uid === uid).map(({ score }) => score)).size).toBeGreaterThan(1);
      }
      for (const row of own) expect(row.reward["part"]).toBe(row.output);
      expect(data["filter_groups/sampled"]).toBe(2 * data["train/num_gen_batches"]!);
      const count = (name: string): number => data[`filter_groups/${name}`]!;
      expect(count("kept") - count("surplus")).toBe(2);
      expect(count("kept") + count("all_1") + count("all_same")).toBe(count("sampled"));
    }
    expect(steps.some(({ data }) => data["train/num_gen_batches"]! > 1)).toBe(true);
  });

  it("resumes where the loader stood after the batches that a step took", async () => {
    const overrides = filter("data.gen_batch_size=3", "trainer.total_training_steps=3");
    const whole = await trainFully(folderOf(), overrides);
    const folder = folderOf();
    stop = new AbortController();
    const saving = [...overrides, "trainer.save_freq=1"];
    const first = await trainFully(folder, [...saving, "trainer.logger=[test-stop]"], { signal: stop.signal });
    expect(first.result).toMatchObject({ step: 1, interrupted: true });
    const second = await trainFully(folder, saving);
    expect(rollouts(second.result.directory)).toEqual(rollouts(whole.result.directory));
  });

  it("ends after as many batches as it may take, with counts (case 75)", async () => {
    const score = `ground_truth < "d" ? 1 : 0`;
    const run = trainFully(folderOf(score), filter("max_num_gen_batches=3", "data.shuffle=false"));
    await expect(run).rejects.toMatchObject({
      code: "VERL_TRAIN_GROUPS_EXHAUSTED",
      message: expect.stringContaining("kept 0 of the 2 groups that it needs after 3 generation batches"),
      details: { batches: 3, wanted: 2, sampled: 6, kept: 0, all_0: 3, all_1: 3, all_same: 0, unscored: 0 },
    });
  });

  it("goes on without a limit, says so each round, and stops when asked, as if the step had not begun (case 75)", async () => {
    let rounds = 0;
    stop = new AbortController();
    const onWrite = (text: string): void => {
      if (text.includes("Going on") && ++rounds === 3) stop.abort();
    };
    const { result, terminal } = await trainFully(folderOf("0"), filter(), { signal: stop.signal, onWrite });
    expect(result).toMatchObject({ step: 0, interrupted: true });
    expect(terminal).toContain("0 of 2 groups after 3 generation batches (of 6 sampled: all 0 100.0 %");
  });

  it("compares a part of the reward by name, and names those there are", async () => {
    const score = `ground_truth < "d" ? 1 : 0, acc: solution_str.length > 2 ? solution_str.charCodeAt(0) : null`;
    const { steps } = await trainFully(folderOf(score), filter("metric=acc", "trainer.total_training_steps=1"));
    expect(steps[0]!.data["filter_groups/kept"]).toBeGreaterThanOrEqual(2);
    await expect(trainFully(folderOf(score), filter("metric=accuracy"))).rejects.toMatchObject({
      code: "VERL_FIELD_MISSING",
      hint: expect.stringContaining("the reward's parts are acc, part"),
    });
  });

  it("compares rewards less their KL penalty", async () => {
    // The scores are all the same: only the penalty, from the second step on, tells answers apart.
    const penalised = ["algorithm.use_kl_in_reward=true", "algorithm.kl_ctrl.kl_coef=0.5"];
    const options = filter("metric=seq_final_reward", ...penalised, "max_num_gen_batches=2");
    const folder = folderOf();
    const first = await trainFully(folder, [...penalised, "trainer.save_freq=1", "trainer.total_training_steps=1"]);
    expect(first.result.step).toBe(1);
    writeFileSync(`${folder}/reward.mjs`, "export const compute_score = () => 1;");
    const { steps } = await trainFully(folder, [...options, "trainer.total_training_steps=2"]);
    expect(steps[1]!.data).toMatchObject({ "train/num_gen_batches": 1, "filter_groups/kept": 2 });
  });
});

it("has a recipe whose options fit the registries", () => {
  const { config } = loadConfig({ schema: "ppo", file: "examples/sort-letters/dapo.yaml" });
  const { actor } = config.actor_rollout_ref;
  expect(actor).toMatchObject({ clip_ratio_low: 0.2, clip_ratio_high: 0.28, loss_agg_mode: "token-mean" });
  expect(config.algorithm.filter_groups).toMatchObject({ enable: true, metric: "acc" });
  const { reward_manager, reward_kwargs } = config.reward_model;
  expect(resolveOptions("reward_manager", reward_manager, reward_kwargs)).toMatchObject({
    overlong_buffer_cfg: { enable: true, len: 2, penalty_factor: 0.5, log: false },
  });
});
