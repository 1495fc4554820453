import { beforeAll, expect, it, jest } from "@jest/globals";
import { NdArray } from "../../core/batch/nd-array.ts";
import { registries } from "../../core/registry/index.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

jest.setTimeout(60_000);

beforeAll(() => {
  registerBuiltIns();
  const broken = { nothing: undefined, small: { advantages: NdArray.zeros("float32", [1, 1]) } };
  for (const [name, result] of Object.entries(broken)) {
    registries.adv_estimator.register(`test-${name}`, { description: "Broken.", compute: () => result as never });
  }
});

it.each([
  ["test-nothing", "no array as `advantages`"],
  ["test-small", "an array of [1, 1] as `advantages`"],
])("an estimator's bad result is told as its own: %s", async (key, what) => {
  const config = ppoConfig(runFolder(), [`algorithm.adv_estimator=${key}`, "trainer.total_training_steps=1"]);
  const trainer = await PpoTrainer.create(config, { stream: recordingStream() });
  await expect(trainer.fit()).rejects.toMatchObject({
    code: "VERL_ALGORITHM_SHAPE",
    message: expect.stringContaining(what),
    location: { path: "algorithm.adv_estimator" },
  });
});
