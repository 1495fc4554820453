import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { loadPlugins, registries } from "../../core/registry/index.ts";
import { SftTrainer } from "../../core/trainer/sft-trainer.ts";
import { trainFully, type FullRun } from "./support/full-run.ts";
import { metricsOf, timeless, type LoggedStep } from "./support/read-run.ts";
import { recordingStream, runFolder, sftConfig } from "./support/tiny-run.ts";

// Ranks compile their graphs, slowly on a busy machine.
jest.setTimeout(300_000);

const PLUGIN = pathToFileURL(`${import.meta.dirname}/fixtures/stateful.ts`).href;

const STATEFUL = [
  "actor_rollout_ref.actor.policy_loss.loss_mode=fading",
  "actor_rollout_ref.rollout.agent.default_agent_loop=heating",
  "reward_model.reward_manager=rising",
  "custom_reward_function.path=null",
  "trainer.total_training_steps=4",
  "trainer.save_freq=2",
  "trainer.logger=[test-steps]",
];
const ON_TWO = ["controller.transport=thread", "trainer.n_gpus_per_node=2"];

/** Called with each step that is logged. */
let onStep: (step: number) => void = () => undefined;

/** Uninterrupted. */
let whole: FullRun;
/** Of a run that was stopped after its second step. */
let folder: string;

beforeAll(async () => {
  await loadPlugins([PLUGIN]);
  registries.tracker.register("test-steps", {
    description: "Tells the test of each step.",
    create: class {
      log(_metrics: object, step: number): void {
        onStep(step);
      }
    },
  });
  whole = await train(runFolder(), ON_TWO);
  folder = runFolder();
});

afterEach(() => {
  onStep = () => undefined;
  for (const name of ["VERL_TEST_FATAL_FILE", "VERL_TEST_FATAL_AT_ANY_TIME"]) Reflect.deleteProperty(process.env, name);
});

function train(into: string, overrides: readonly string[], signal?: AbortSignal): Promise<FullRun> {
  return trainFully(into, [...STATEFUL, ...overrides], { signal });
}

const statesOf = (run: string, step: number, file: string): unknown =>
  JSON.parse(readFileSync(`${run}/global_step_${step}/${file}.json`, "utf8"));

/** Without the number of restarts, which a run that needed none does not have. */
function withoutRestarts(steps: readonly LoggedStep[]): Record<string, number>[] {
  return steps.map((step) => {
    const { "training/restarts": _, ...rest } = timeless(step);
    return rest;
  });
}

describe("what plugins remember", () => {
  it("goes into the checkpoint from every rank", async () => {
    const stop = new AbortController();
    onStep = (step) => void (step === 2 && stop.abort());
    const { result } = await train(folder, ON_TWO, stop.signal);
    expect(result).toMatchObject({ step: 2, interrupted: true });
    expect(statesOf(result.directory, 2, "ranks")).toEqual({
      models: [
        { "policy_loss/fading": { calls: 2 }, "agent_loop/heating": { answers: 8 } },
        { "policy_loss/fading": { calls: 2 }, "agent_loop/heating": { answers: 8 } },
      ],
      reward: [{ "reward_manager/rising": { scored: 16 } }],
    });
  });

  it("comes back with it: the resumed run equals an uninterrupted one to the bit", async () => {
    const { steps } = await train(folder, ON_TWO);
    expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4]);
    expect(steps.map(timeless)).toEqual(whole.steps.map(timeless));
  });

  it("is taken from the first rank where the run goes on in one thread", async () => {
    const { terminal, result } = await train(folder, ["trainer.total_training_steps=5"]);
    expect(terminal).toContain("the plugins' states of 2 ranks of models, not 1: the rest is dropped");
    expect(statesOf(result.directory, 5, "plugins")).toEqual({
      "policy_loss/fading": { calls: 5 },
      "agent_loop/heating": { answers: 24 },
      "reward_manager/rising": { scored: 40 },
    });
  });
});

describe("a run whose rank dies", () => {
  it("goes on from its last checkpoint when it may, and ends with the same numbers", async () => {
    const run = runFolder();
    const fatal = `${run}/fatal`;
    writeFileSync(fatal, "");
    process.env["VERL_TEST_FATAL_FILE"] = fatal;
    const { result, steps, terminal } = await train(run, [...ON_TWO, "trainer.max_restarts=2"]);
    expect(existsSync(fatal)).toBe(false);
    expect(result).toMatchObject({ step: 4, total: 4, interrupted: false, restarts: 1 });
    expect(terminal).toMatch(/Rank [01] of models .* exited with code 3.* Restart 1 of 2 \(trainer\.max_restarts\)/);
    expect(terminal).toContain("global_step_2; 1 step will be done again.");
    expect(terminal).toContain("Done: 4 of 4 steps, after 1 restart.");
    expect(steps.map(({ step, data }) => [step, data["training/restarts"]])).toEqual([
      [1, undefined],
      [2, undefined],
      [3, 1],
      [4, 1],
    ]);
    expect(withoutRestarts(steps)).toEqual(whole.steps.map(timeless));
    const samples = (directory: string) => readFileSync(`${directory}/rollouts.jsonl`, "utf8");
    expect(samples(result.directory)).toBe(samples(whole.result.directory));
  });

  it("goes on whatever rank died, where each role has its own", async () => {
    const apart = [
      ...ON_TWO,
      "actor_rollout_ref.hybrid_engine=false",
      "actor_rollout_ref.rollout.nnodes=1",
      "actor_rollout_ref.rollout.agent.num_workers=2",
    ];
    const run = runFolder();
    process.env["VERL_TEST_FATAL_FILE"] = `${run}/fatal`;
    process.env["VERL_TEST_FATAL_AT_ANY_TIME"] = "1";
    onStep = (step) => {
      if (step !== 2) return;
      writeFileSync(`${run}/fatal`, "");
      onStep = () => undefined;
    };
    const { result, steps } = await train(run, [...apart, "trainer.max_restarts=1", "trainer.total_training_steps=6"]);
    expect(result).toMatchObject({ step: 6, interrupted: false, restarts: 1 });
    expect(steps.map(({ step }) => step)).toEqual([1, 2, 3, 4, 5, 6]);
    // Hot answers of the same seeds, whoever runs their loops.
    steps.slice(0, 4).forEach((step, index) => {
      expect(step.data["critic/score/mean"]).toBeCloseTo(whole.steps[index]!.data["critic/score/mean"]!, 5);
    });
  });

  it("goes on whenever it died, in supervised training too", async () => {
    const run = async (into: string) => {
      const overrides = [
        "data.micro_batch_size_per_gpu=2",
        "trainer.total_training_steps=12",
        "trainer.save_freq=3",
        "trainer.logger=[test-steps]",
      ];
      const stream = recordingStream();
      const config = sftConfig(into, [...overrides, ...ON_TWO, "trainer.max_restarts=1"]);
      const result = await (await SftTrainer.create(config, { stream })).fit();
      return { result, steps: metricsOf(result.directory), terminal: stream.text() };
    };
    const uninterrupted = await run(runFolder());
    const into = runFolder();
    process.env["VERL_TEST_FATAL_FILE"] = `${into}/fatal`;
    process.env["VERL_TEST_FATAL_AT_ANY_TIME"] = "1";
    onStep = (step) => {
      if (step !== 5) return;
      writeFileSync(`${into}/fatal`, "");
      // The step is done again.
      onStep = () => undefined;
    };
    const { result, steps, terminal } = await run(into);
    expect(terminal).toMatch(/Rank [01] of sft .* exited with code 3/);
    expect(result).toMatchObject({ step: 12, interrupted: false, restarts: 1 });
    expect(withoutRestarts(steps)).toEqual(uninterrupted.steps.map(timeless));
  });
});
