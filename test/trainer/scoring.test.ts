import { writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { registries } from "../../core/registry/index.ts";
import type { Trajectory } from "../../core/agent/trajectory.ts";
import type { AgentContext, AgentSample } from "../../core/agent/agent-loop.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { SingleTurnAgentLoop } from "../../plugins/agent-loop/single-turn.ts";
import { NaiveRewardManager } from "../../plugins/reward-manager/naive.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { metricsOf, timeless } from "./support/read-run.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

let events: string[] = [];
/** A row of each step waits until another was scored. */
let waits = false;
/** Fails the second prompt's rows. */
let drops = false;
const on = globalThis as { scored?: (text: string) => void };

const WAITED = 3;

class Watched extends SingleTurnAgentLoop {
  override async run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory> {
    if (drops && sample.uid.endsWith("/1")) throw new Error("no environment");
    if (waits && sample.sampleIndex === WAITED)
      while (!events.includes("scored")) await setImmediate(undefined, { signal: ctx.signal });
    const trajectory = await super.run(sample, ctx);
    events.push("ended");
    return trajectory;
  }
}

beforeAll(() => {
  registerBuiltIns();
  registries.agent_loop.register("test-watched", { description: "Tells when it ends.", create: Watched });
  registries.reward_manager.register("test-whole", {
    ...registries.reward_manager.resolve("naive"),
    create: class extends NaiveRewardManager {
      override open = undefined as never;
    },
  });
});

beforeEach(() => {
  events = [];
  waits = drops = false;
  on.scored = () => void events.push("scored");
});

const REWARD = `export async function compute_score({ solution_str, ground_truth }) {
  await new Promise(setImmediate);
  globalThis.scored(ground_truth);
  if (FAILS) throw new Error("no judge");
  return { score: [...solution_str].filter((letter) => letter < "m").length / 4, long: solution_str.length > 2 };
}`;

async function train(overrides: readonly string[], fails = "false") {
  const folder = runFolder();
  writeFileSync(`${folder}/reward.mjs`, REWARD.replace("FAILS", fails));
  const config = ppoConfig(folder, [
    "actor_rollout_ref.rollout.agent.default_agent_loop=test-watched",
    "actor_rollout_ref.rollout.agent.max_retries=0",
    "data.shuffle=false",
    `data.val_files=${folder}/val.jsonl`,
    "trainer.val_before_train=true",
    "trainer.total_training_steps=2",
    "algorithm.adv_estimator=test-centred",
    ...overrides,
  ]);
  const { directory } = await (await PpoTrainer.create(config, { stream: recordingStream() })).fit();
  return metricsOf(directory).map(timeless);
}

describe("scoring answers as their trajectories end", () => {
  it("begins while others are still being sampled, in validation too", async () => {
    waits = true;
    // No answer to a step's last row before another row's score: without that, this would never end.
    await train(["actor_rollout_ref.rollout.val_kwargs.n=4"]);
    expect(events.indexOf("scored")).toBeLessThan(events.lastIndexOf("ended"));
  });

  it("has the numbers of scoring the whole batch", async () => {
    const streamed = await train([]);
    const whole = await train(["reward_model.reward_manager=test-whole"]);
    expect(streamed).toEqual(whole);
    expect(streamed[1]).toHaveProperty(["reward/long/mean"]);
  });

  it("leaves out what was scored of groups that were dropped", async () => {
    drops = true;
    const options = ["trainer.val_before_train=false", "data.val_files=[]"];
    const streamed = await train(options);
    const whole = await train(["reward_model.reward_manager=test-whole", ...options]);
    expect(streamed).toEqual(whole);
    expect(streamed[0]).toMatchObject({ "agent_loop/dropped_groups": 1, "reward/unscored": 0 });
  });

  it("counts what has no score, and ends the run where that is too much: the reward's fault, not the loop's", async () => {
    const some = `ground_truth === "ayz"`;
    const [, step] = await train(["reward_model.max_unscored_fraction=0.5"], some);
    expect(step).toMatchObject({ "reward/unscored": 4, "reward/unscored/error": 4, "reward/unscored_fraction": 0.5 });
    expect(step).toMatchObject({ "agent_loop/retries": 0, "agent_loop/dropped_groups": 0 });
    await expect(train(["trainer.val_before_train=false"], some)).rejects.toMatchObject({
      code: "VERL_REWARD_UNSCORED",
      message: expect.stringContaining("4 of 8 answers have no score: 4 × error: Error: no judge"),
    });
  });

  it("is ended by what the manager fails by, after the answers are there", async () => {
    registries.reward_manager.register("test-failing", {
      description: "Cannot read an answer.",
      create: class extends NaiveRewardManager {
        protected override scoreAnswer(): Promise<never> {
          return Promise.reject(new Error("it cannot be read"));
        }
      },
    });
    const failing = train(["reward_model.reward_manager=test-failing", "trainer.val_before_train=false"]);
    await expect(failing).rejects.toMatchObject({
      message: expect.stringMatching(/reward manager "test-failing".*it cannot be read/),
    });
    expect(events.filter((event) => event === "ended")).toHaveLength(8);
  });
});
