import { writeFileSync } from "node:fs";
import { beforeAll, expect, it, jest } from "@jest/globals";
import { registries } from "../../core/registry/index.ts";
import { readSafetensors } from "../../core/tensor/safetensors.ts";
import { registerAll, trainFully } from "../trainer/support/full-run.ts";
import { runFolder } from "../trainer/support/tiny-run.ts";

/*
 * Ten steps of the quickstart's model with every advantage estimator and every loss. In one process: starting takes longer than training.
 */

jest.setTimeout(300_000);
registerAll();

/** A loss that makes sense with each estimator; the default for those that are not named here. */
const LOSS: Readonly<Record<string, string>> = {
  gpg: "gpg",
  grpo: "gspo",
  grpo_passk: "sapo",
  grpo_vectorized: "geo_mean",
  opo: "kl_cov",
  optimal_token_baseline: "reinforce",
  reinforce_plus_plus: "cispo",
  reinforce_plus_plus_baseline: "clip_cov",
  rloo: "bypass_mode",
};

/** What an estimator or a loss needs beyond defaults. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  bypass_mode: [
    "algorithm.rollout_correction.bypass_mode=true",
    "algorithm.rollout_correction.rollout_rs=token_k3",
    "algorithm.rollout_correction.rollout_rs_threshold=0.1",
  ],
  gdpo: ["algorithm.adv_kwargs={reward_keys: [placed, ended]}"],
  optimal_token_baseline: ["actor_rollout_ref.actor.calculate_sum_pi_squared=true"],
  tir_optimal_token_baseline: ["actor_rollout_ref.actor.calculate_sum_pi_squared=true"],
};

const REWARD = `export function compute_score({ solution_str, ground_truth, extra_info }) {
  const placed = [...ground_truth].filter((letter, at) => solution_str[at] === letter).length / ground_truth.length;
  const early = [...solution_str].filter((letter) => letter < "m").length / 10;
  return { score: placed + early, placed: placed + early, ended: extra_info.stop_reason === "stop" };
}`;

const PROBLEMS = ["dcbae", "zyaqw", "kmxop", "qpolm", "bacfe", "tsuvw", "hgfij", "rnmlk"];

/** The quickstart's model and sizes, on a small batch. */
const QUICKSTART = [
  "~actor_rollout_ref.model.override_config",
  "data.train_batch_size=8",
  "data.max_response_length=6",
  "actor_rollout_ref.actor.ppo_mini_batch_size=4",
  "actor_rollout_ref.actor.optim.lr=5e-4",
  "actor_rollout_ref.rollout.n=4",
  "trainer.total_training_steps=10",
];

let folder: string;
beforeAll(() => {
  folder = runFolder();
  const rows = PROBLEMS.map((problem) => ({
    data_source: "letters",
    prompt: [{ role: "user", content: problem }],
    reward_model: { ground_truth: [...problem].sort().join("") },
  }));
  writeFileSync(`${folder}/train.jsonl`, rows.map((row) => JSON.stringify(row)).join("\n"));
  writeFileSync(`${folder}/reward.mjs`, REWARD);
});

const estimators = registries.adv_estimator.keys();
const lossOf = (estimator: string): string => LOSS[estimator] ?? "vanilla";

it("covers every loss", () => {
  expect([...new Set(estimators.map(lossOf))].sort()).toEqual([...registries.policy_loss.keys()].sort());
});

it.each(estimators.map((estimator) => [estimator, lossOf(estimator)]))(
  "%s with %s trains ten steps",
  async (estimator, loss) => {
    const { result, steps } = await trainFully(folder, [
      ...QUICKSTART,
      `algorithm.adv_estimator=${estimator}`,
      `actor_rollout_ref.actor.policy_loss.loss_mode=${loss}`,
      ...(NEEDS[estimator] ?? []),
      ...(NEEDS[loss] ?? []),
      `trainer.default_local_dir=${folder}/${estimator}`,
    ]);
    expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for (const { data } of steps) {
      for (const [name, value] of Object.entries(data)) expect([name, Number.isFinite(value)]).toEqual([name, true]);
    }
    const moved = steps.filter(({ data }) => data["actor/grad_norm"]! > 0);
    expect(moved.length).toBeGreaterThanOrEqual(9);
    const weights = [...(await readSafetensors(`${result.model!}/model.safetensors`)).arrays.values()];
    expect(weights.reduce((count, { data }) => count + data.length, 0)).toBe(336_256);
    for (const { data } of weights) expect((data as Float32Array).every(Number.isFinite)).toBe(true);
  },
);
