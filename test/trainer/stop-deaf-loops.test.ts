import { readFileSync } from "node:fs";
import { afterEach, beforeAll, expect, it, jest } from "@jest/globals";
import type { AgentContext, AgentSample } from "../../core/agent/agent-loop.ts";
import type { Trajectory } from "../../core/agent/trajectory.ts";
import { provide, registries } from "../../core/registry/index.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { SingleTurnAgentLoop } from "../../plugins/agent-loop/single-turn.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { metricsOf, timeless } from "./support/read-run.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

/*
 * Loops that neither end nor hear that they should, in a run that is asked to stop.
 */

jest.setTimeout(300_000);

/** Whether the loop of an answer is one; set by each test. */
let hangs: ((begun: number, validate: boolean) => boolean) | undefined;
let begun = 0;
afterEach(() => {
  hangs = undefined;
  begun = 0;
});

class Deaf extends SingleTurnAgentLoop {
  override run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    return hangs?.(begun++, sample.validate) ? new Promise(() => undefined) : super.run(sample, ctx);
  }
}

beforeAll(() => {
  registerBuiltIns();
  const { kind, key, entry } = provide("agent_loop", "test_deaf", { description: "Deaf.", create: Deaf });
  registries[kind].register(key, entry);
});

const STEPS = ["trainer.total_training_steps=3", "trainer.save_freq=3", "trainer.test_freq=2"];

async function train(folder: string, signal?: AbortSignal) {
  const stream = recordingStream();
  const loop = "actor_rollout_ref.rollout.agent.default_agent_loop=test_deaf";
  const config = ppoConfig(folder, [`data.val_files=${folder}/val.jsonl`, ...STEPS, loop]);
  const result = await (await PpoTrainer.create(config, { stream, ...(signal && { signal }) })).fit();
  return { result, terminal: stream.text() };
}

const record = (folder: string) => ({
  metrics: metricsOf(`${folder}/run`).map((line) => ({ step: line.step, data: timeless(line) })),
  rollouts: readFileSync(`${folder}/run/rollouts.jsonl`, "utf8"),
});

it("gives up a step whose loops hang, saves the one before, and the resumed run has the record of one that was not stopped", async () => {
  const whole = runFolder();
  await train(whole);
  const folder = runFolder();
  const stop = new AbortController();
  // The second step's.
  hangs = (number, validate) => {
    if (number < 8 || validate) return false;
    stop.abort();
    return true;
  };
  const { result } = await train(folder, stop.signal);
  expect(result).toMatchObject({ step: 1, interrupted: true });
  expect(result.checkpoint).toContain("global_step_1");
  hangs = undefined;
  await train(folder);
  expect(record(folder)).toEqual(record(whole));
});

it("gives up a validation whose loops hang; the step is done and saved", async () => {
  const folder = runFolder();
  const stop = new AbortController();
  hangs = (_, validate) => {
    if (validate) stop.abort();
    return validate;
  };
  const { result, terminal } = await train(folder, stop.signal);
  expect(result).toMatchObject({ step: 2, interrupted: true, validation: {} });
  expect(result.checkpoint).toContain("global_step_2");
  expect(terminal).toContain("The validation of step 2 was given up");
  expect(metricsOf(`${folder}/run`).map(({ step }) => step)).toEqual([1, 2]);
});
