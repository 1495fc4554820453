import { existsSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { registries } from "../../core/registry/index.ts";
import { RewardManager } from "../../core/reward/reward-manager.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

let disposed = 0;

beforeAll(() => {
  registerBuiltIns();
  registries.reward_manager.register("test-unready", {
    description: "Is never ready.",
    create: class extends RewardManager {
      override load(): Promise<void> {
        return new Promise((_, reject) => setTimeout(() => reject(new Error("no judge answers")), 50));
      }
      override score(): Promise<never> {
        throw new Error("It was asked.");
      }
      override dispose(): Promise<void> {
        disposed += 1;
        return Promise.resolve();
      }
    },
  });
});

const create = (folder: string, overrides: readonly string[]): Promise<PpoTrainer> =>
  PpoTrainer.create(ppoConfig(folder, overrides), { stream: recordingStream() });

describe("a reward manager that is not ready", () => {
  it("ends the run before its first step, not in it", async () => {
    const folder = runFolder();
    await expect(create(folder, ["reward_model.reward_manager=test-unready"])).rejects.toThrow("no judge answers");
    expect(existsSync(`${folder}/run/metrics.jsonl`)).toBe(false);
    expect(disposed).toBe(1);
  });

  it("does so with what a built-in finds: a file that the pool's processes cannot load", async () => {
    const folder = runFolder();
    writeFileSync(
      `${folder}/reward.mjs`,
      `if (process.env.VERL_SCORE_HOST_BYTES) throw new Error("only in the trainer");
export const compute_score = () => 1;`,
    );
    await expect(
      create(folder, ["reward_model.reward_manager=prime", "reward_model.num_workers=1"]),
    ).rejects.toMatchObject({
      code: "VERL_REWARD_FUNCTION_FILE",
      message: expect.stringContaining("only in the trainer"),
    });
  });
});
