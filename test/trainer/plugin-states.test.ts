import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { loadPlugins, registries } from "../../core/registry/index.ts";
import { trainFully, type FullRun } from "./support/full-run.ts";
import { timeless } from "./support/read-run.ts";
import { runFolder } from "./support/tiny-run.ts";

// Ranks compile their graphs, slowly on a busy machine.
jest.setTimeout(300_000);

const PLUGIN = pathToFileURL(`${import.meta.dirname}/fixtures/stateful.ts`).href;

beforeAll(async () => {
  await loadPlugins([PLUGIN]);
  registries.tracker.register("test-stop", {
    description: "Asks the run to stop.",
    create: class {
      log(_metrics: object, step: number): void {
        if (step === stopAt) stop.abort();
      }
    },
  });
});

const STATEFUL = [
  "actor_rollout_ref.actor.policy_loss.loss_mode=fading",
  "actor_rollout_ref.rollout.agent.default_agent_loop=heating",
  "reward_model.reward_manager=rising",
  "custom_reward_function.path=null",
  "trainer.total_training_steps=4",
  "trainer.save_freq=2",
  "trainer.logger=[test-stop]",
];
const ON_TWO = ["controller.transport=thread", "trainer.n_gpus_per_node=2"];

/** Aborted when this step is logged. */
let stopAt = Infinity;
let stop = new AbortController();

function train(folder: string, overrides: readonly string[] = [], stopAfter = Infinity): Promise<FullRun> {
  stopAt = stopAfter;
  stop = new AbortController();
  return trainFully(folder, [...STATEFUL, ...overrides], { signal: stop.signal });
}

const statesOf = (run: string, step: number, file: string): unknown =>
  JSON.parse(readFileSync(`${run}/global_step_${step}/${file}.json`, "utf8"));

describe("what plugins remember", () => {
  it("goes into the checkpoint from every rank, and a resumed run equals an uninterrupted one to the bit", async () => {
    const whole = await train(runFolder(), ON_TWO);
    const folder = runFolder();
    const stopped = await train(folder, ON_TWO, 2);
    expect(stopped.result).toMatchObject({ step: 2, interrupted: true });
    expect(statesOf(stopped.result.directory, 2, "ranks")).toEqual({
      models: [
        { "policy_loss/fading": { calls: 2 }, "agent_loop/heating": { answers: 8 } },
        { "policy_loss/fading": { calls: 2 }, "agent_loop/heating": { answers: 8 } },
      ],
      reward: [{ "reward_manager/rising": { scored: 16 } }],
    });
    const { steps } = await train(folder, ON_TWO);
    expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4]);
    expect(steps.map(timeless)).toEqual(whole.steps.map(timeless));

    const onOne = await train(folder, ["trainer.total_training_steps=5"]);
    expect(onOne.terminal).toContain("the plugins' states of 2 ranks of models, not 1: the rest is dropped");
    expect(statesOf(onOne.result.directory, 5, "plugins")).toEqual({
      "policy_loss/fading": { calls: 5 },
      "agent_loop/heating": { answers: 24 },
      "reward_manager/rising": { scored: 40 },
    });
  });
});
