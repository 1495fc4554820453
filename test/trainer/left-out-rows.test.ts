import { writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { registries } from "../../core/registry/index.ts";
import { vanilla } from "../../plugins/policy-loss/vanilla.ts";
import { registerAll, trainFully } from "./support/full-run.ts";
import { runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

beforeAll(() => {
  registerAll();
  registries.policy_loss.register("test-counting", {
    ...vanilla,
    compute(input, config, agg) {
      const { loss, metrics } = vanilla.compute(input, config, agg);
      const rows = tf.sum(tf.max(input.response_mask, 1)).asScalar();
      const tokens = tf.scalar(agg.denominators.tokens);
      return {
        loss,
        metrics: {
          ...metrics,
          "test/rows": rows,
          "test/sequences": tf.scalar(agg.denominators.sequences),
          "test/tokens": tokens,
        },
      };
    },
  });
});

const COUNTING = [
  "actor_rollout_ref.actor.policy_loss.loss_mode=test-counting",
  "actor_rollout_ref.actor.use_kl_loss=true",
  "actor_rollout_ref.actor.calculate_entropy=true",
  "reward_model.max_unscored_fraction=0.5",
  "trainer.total_training_steps=1",
  "data.shuffle=false",
  // What a row brings to the loss, it brings by its tokens.
  "actor_rollout_ref.rollout.ignore_eos=true",
];

/** A step of two prompts with four answers each. @param score of an answer to the prompt that sorts to `ground_truth`. */
async function train(score: string, ...overrides: readonly string[]) {
  const folder = runFolder();
  writeFileSync(`${folder}/reward.mjs`, `export const compute_score = ({ ground_truth }) => (${score});`);
  const { steps } = await trainFully(folder, [...COUNTING, ...overrides]);
  return steps[0]!.data;
}

describe("rows of which nothing is learnt leave the losses, denominators, entropy and KL included", () => {
  it("where all rows have a score, all are in", async () => {
    expect(await train("1")).toMatchObject({ "test/rows": 8, "test/sequences": 8, "test/tokens": 40 });
  });

  it("without a score", async () => {
    const data = await train(`ground_truth === "ayz" ? NaN : 1`);
    expect(data).toMatchObject({ "reward/unscored": 4, "test/rows": 4, "test/sequences": 4, "test/tokens": 20 });
    // What was sampled is told of all rows.
    expect(data["response_length/mean"]).toBe(5);
  });

  it("without a score of the greedy answer, under `remax`", async () => {
    const score = `ground_truth === "ayz" && (globalThis.calls = (globalThis.calls ?? 0) + 1) === 5 ? NaN : 1`;
    const data = await train(score, "algorithm.adv_estimator=remax");
    expect(data).toMatchObject({ "reward/unscored": 0, "advantage/missing_baselines": 0.5, "test/rows": 4 });
  });

  it("without a part of the reward, under `gdpo`", async () => {
    const score = `ground_truth === "ayz" ? { score: 1 } : { score: 1, format: 1 }`;
    const data = await train(score, "algorithm.adv_estimator=gdpo", "algorithm.adv_kwargs.reward_keys=[format]");
    expect(data).toMatchObject({ "advantage/missing_parts": 0.5, "test/rows": 4, "test/tokens": 20 });
  });
});
