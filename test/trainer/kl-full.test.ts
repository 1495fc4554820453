import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { registries } from "../../core/registry/index.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { full } from "../../plugins/kl/full.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { metricsOf } from "./support/read-run.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);
beforeAll(() => {
  registerBuiltIns();
  registries.kl_penalty.register("full", full);
});

async function train(overrides: readonly string[]) {
  const trainer = await PpoTrainer.create(
    ppoConfig(runFolder(), ["trainer.total_training_steps=3", "actor_rollout_ref.actor.optim.lr=0.05", ...overrides]),
    { stream: recordingStream() },
  );
  const { directory } = await trainer.fit();
  return metricsOf(directory).map(({ data }) => data);
}

describe("the exact KL", () => {
  it("as a loss: 0 while the policy is the reference, then above 0", async () => {
    const steps = await train([
      "actor_rollout_ref.actor.use_kl_loss=true",
      "actor_rollout_ref.actor.kl_loss_type=full",
      "actor_rollout_ref.actor.ppo_mini_batch_size=${data.train_batch_size}",
    ]);
    expect(steps[0]!["actor/kl_loss"]).toBeCloseTo(0, 5);
    expect(steps[2]!["actor/kl_loss"]).toBeGreaterThan(1e-3);
  });

  it("in the reward: of the old policy, with any loss", async () => {
    const steps = await train(["algorithm.use_kl_in_reward=true", "algorithm.kl_penalty=full"]);
    expect(steps[0]!["actor/reward_kl_penalty"]).toBeCloseTo(0, 5);
    expect(steps[2]!["actor/reward_kl_penalty"]).toBeGreaterThan(1e-3);
  });

  it("is refused where the old policy's distribution is not known", async () => {
    const overrides = [
      "algorithm.use_kl_in_reward=true",
      "algorithm.kl_penalty=full",
      "actor_rollout_ref.actor.use_rollout_log_probs=true",
    ];
    await expect(train(overrides)).rejects.toMatchObject({
      code: "VERL_ALGORITHM_CONFIG",
      location: { path: "algorithm.kl_penalty" },
    });
  });
});
