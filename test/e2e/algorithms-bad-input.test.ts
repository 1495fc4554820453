import { existsSync, writeFileSync } from "node:fs";
import { describe, expect, it, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import type { AdvantageInput } from "../../core/algorithm/advantage-estimator.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { registries } from "../../core/registry/index.ts";
import { readSafetensors } from "../../core/tensor/safetensors.ts";
import { grpo } from "../../plugins/advantage/grpo.ts";
import { SingleTurnAgentLoop } from "../../plugins/agent-loop/single-turn.ts";
import { registerAll, trainFully, type FullRun } from "../trainer/support/full-run.ts";
import { runFolder } from "../trainer/support/tiny-run.ts";

jest.setTimeout(300_000);
registerAll();

/** The step from which `test-broken` and `test-weighed` break the second token of the third row. */
let broken = Infinity;
let calls = 0;
function breakToken({ data, rowSize }: NdArray<"float32">): void {
  calls += 1;
  if (calls >= broken) data[2 * rowSize + 1] = Infinity;
}
registries.adv_estimator.register("test-broken", {
  ...grpo,
  compute(input, config, ctx) {
    const output = grpo.compute(input, config, ctx);
    breakToken(output.advantages);
    return output;
  },
});
registries.policy_loss.register("test-weighed", {
  description: "Weighs each token by a field that it prepares.",
  prepare({ advantages }) {
    const weights = NdArray.zeros("float32", advantages.shape);
    weights.data.fill(1);
    breakToken(weights);
    return { weights };
  },
  compute({ log_probs, advantages, weights }, _config, agg) {
    return { loss: agg(tf.neg(tf.mul(tf.mul(log_probs, advantages), weights as tf.Tensor2D))), metrics: {} };
  },
});
registries.agent_loop.register("test-silent", {
  description: "Gives an empty answer.",
  create: class extends SingleTurnAgentLoop {
    override async run(...args: Parameters<SingleTurnAgentLoop["run"]>) {
      return { ...(await super.run(...args)), segments: [] };
    }
  },
});

async function refusal(overrides: readonly string[], folder = runFolder()): Promise<unknown> {
  return trainFully(folder, overrides).then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function expectFinite({ result, steps }: FullRun): Promise<void> {
  for (const { data } of steps) {
    for (const [name, value] of Object.entries(data)) expect([name, Number.isFinite(value)]).toEqual([name, true]);
  }
  for (const [name, { data }] of (await readSafetensors(`${result.model!}/model.safetensors`)).arrays) {
    expect([name, (data as Float32Array).every(Number.isFinite)]).toEqual([name, true]);
  }
}

function rewardFolder(score: string): string {
  const folder = runFolder();
  writeFileSync(`${folder}/reward.mjs`, `export const compute_score = ({ solution_str }) => ${score};`);
  return folder;
}

describe("a run that cannot be", () => {
  it.each([
    ["an unknown estimator", ["algorithm.adv_estimator=gropo"], "VERL_REGISTRY_KEY_UNKNOWN", "grpo"],
    ["an unknown loss", ["actor_rollout_ref.actor.policy_loss.loss_mode=gsop"], "VERL_REGISTRY_KEY_UNKNOWN", "gspo"],
    [
      "values without a critic",
      ["algorithm.adv_estimator=gae", "critic.enable=false"],
      "VERL_FIELD_MISSING",
      "critic.enable=true",
    ],
    [
      "Σπ² that is not computed",
      ["algorithm.adv_estimator=optimal_token_baseline"],
      "VERL_FIELD_MISSING",
      "calculate_sum_pi_squared=true",
    ],
    ["a group of one", ["actor_rollout_ref.rollout.n=1"], "VERL_TRAIN_NEEDS_GROUPS", "rollout.n"],
    ["an option that an estimator lacks", ["algorithm.adv_kwargs={epsilon: 1}"], "VERL_OPTIONS_INVALID", "verl info"],
  ])("is refused with what would help: %s", async (_what, overrides, code, hint) => {
    expect(await refusal(overrides)).toMatchObject({ code, hint: expect.stringContaining(hint) });
  });

  it("is refused: an estimator called without uid", () => {
    const matrix = NdArray.zeros("float32", [2, 3]);
    const input = { token_level_rewards: matrix, response_mask: matrix } as unknown as AdvantageInput;
    const config = { gamma: 1, lam: 1, norm_adv_by_std_in_grpo: true, adv_kwargs: {} };
    expect(() => grpo.compute(input, config, { metric: () => undefined })).toThrow(/without `uid`/);
  });
});

describe("rewards that are NaN", () => {
  it("end the run by default, with the reason", async () => {
    expect(await refusal([], rewardFolder("solution_str.length > 2 ? NaN : 1"))).toMatchObject({
      code: "VERL_REWARD_UNSCORED",
      message: expect.stringContaining("returned NaN"),
    });
  });

  it.each(["grpo", "rloo", "reinforce_plus_plus", "gae", "opo"])(
    "are left out where the config lets them be, and weights stay finite: %s",
    async (estimator) => {
      const run = await trainFully(rewardFolder("solution_str.charCodeAt(0) % 2 ? NaN : solution_str.length"), [
        `algorithm.adv_estimator=${estimator}`,
        "reward_model.max_unscored_fraction=1",
      ]);
      expect(run.steps.some(({ data }) => data["reward/unscored"]! > 0)).toBe(true);
      await expectFinite(run);
    },
  );
});

it.each(["grpo", "gae", "reinforce_plus_plus"])(
  "trains nothing on a batch without a token, and spoils nothing: %s",
  async (estimator) => {
    const run = await trainFully(runFolder(), [
      `algorithm.adv_estimator=${estimator}`,
      "actor_rollout_ref.rollout.agent.default_agent_loop=test-silent",
      "trainer.total_training_steps=2",
    ]);
    for (const { data } of run.steps)
      expect(data).toMatchObject({ "actor/loss": 0, "actor/grad_norm": 0, "response/aborted_ratio": 1 });
    await expectFinite(run);
  },
);

it.each([
  [
    "an estimator",
    "algorithm.adv_estimator=test-broken",
    "VERL_ALGORITHM_NOT_FINITE",
    'The advantage estimator "test-broken" of this program failed: `advantages` is Infinity at row 2, token 1.',
    { kind: "adv_estimator", key: "test-broken", row: 2, token: 1 },
  ],
  [
    "an input of the loss",
    "actor_rollout_ref.actor.policy_loss.loss_mode=test-weighed",
    "VERL_ENGINE_NOT_FINITE",
    '"weights" is Infinity at row 0, token 1. That is row 2 of the step.',
    { tensor: "weights", row: 2, token: 1 },
  ],
])(
  "stops at what is not finite, says where, and goes on from the last checkpoint when that is mended: %s",
  async (_, choice, code, message, details) => {
    const folder = runFolder();
    const overrides = [
      choice,
      "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2",
      "trainer.save_freq=1",
      "trainer.total_training_steps=4",
    ];
    [calls, broken] = [0, 3];
    const error = await refusal(overrides, folder);
    expect(error).toMatchObject({ code, message: expect.stringContaining(message), details });
    expect(existsSync(`${folder}/run/global_step_3`)).toBe(false);
    broken = Infinity;
    const run = await trainFully(folder, overrides);
    expect(run.terminal).toContain("Resuming after step 2");
    expect(run.result).toMatchObject({ step: 4, interrupted: false });
    await expectFinite(run);
  },
);
