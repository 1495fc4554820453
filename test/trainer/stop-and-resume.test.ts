import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { SftTrainer } from "../../core/trainer/sft-trainer.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { metricsOf, timeless } from "./support/read-run.ts";
import { ppoConfig, recordingStream, runFolder, sftConfig } from "./support/tiny-run.ts";

// Graphs are compiled in the first steps, slowly on a busy machine.
jest.setTimeout(300_000);

beforeAll(registerBuiltIns);

/** Called by the reward file for every answer: the number of answers scored so far, and whether it is one of validation. */
type Hook = (scored: number, validating: boolean) => unknown;
const hooks = globalThis as { verlTestHook?: Hook };
afterEach(() => {
  delete hooks.verlTestHook;
});

const REWARD = `let scored = 0;
export async function compute_score({ data_source, solution_str }) {
  await globalThis.verlTestHook?.(scored++, data_source === "val");
  return [...solution_str].filter((letter) => letter < "m").length / 4;
}`;

/** Two prompts × 4 answers a step; the validation data are a source of their own. */
function folderOf(): string {
  const folder = runFolder();
  writeFileSync(`${folder}/reward.mjs`, REWARD);
  const val = readFileSync(`${folder}/val.jsonl`, "utf8");
  writeFileSync(`${folder}/val.jsonl`, val.replaceAll('"letters"', '"val"'));
  return folder;
}

async function train(
  folder: string,
  overrides: readonly string[],
  { hook, facts }: { hook?: Hook; facts?: true } = {},
) {
  const stop = new AbortController();
  const stream = recordingStream();
  hooks.verlTestHook = hook && ((...call) => hook.apply(stop, call));
  const config = ppoConfig(folder, [`data.val_files=${folder}/val.jsonl`, ...overrides]);
  const options = { stream, signal: stop.signal };
  const told = facts && { name: "a/b", command: "verl train", seed: 1, config: [] };
  const trainer = await PpoTrainer.create(config, { ...options, ...(told && { facts: told }) });
  const result = await trainer.fit().finally(() => delete hooks.verlTestHook);
  return { result, terminal: stream.text() };
}

/** Stops the run at the first answer of validation. */
function stopInValidation(this: AbortController, _: number, validating: boolean): void {
  if (validating) this.abort();
}

/** What a run left, the clock aside. */
const record = (folder: string) => ({
  metrics: metricsOf(`${folder}/run`).map((line) => ({ step: line.step, data: timeless(line) })),
  rollouts: readFileSync(`${folder}/run/rollouts.jsonl`, "utf8"),
});

const SAVING = ["trainer.total_training_steps=5", "trainer.save_freq=2", "trainer.test_freq=2"];

describe("a resume whose checkpoint does not fit the run", () => {
  it("is refused and leaves the record and the pointer as they were", async () => {
    const folder = folderOf();
    await train(folder, SAVING);
    const read = () => ({
      ...record(folder),
      pointer: readFileSync(`${folder}/run/latest_checkpointed_iteration.txt`, "utf8"),
    });
    const before = read();
    const rows = readFileSync(`${folder}/train.jsonl`, "utf8").split("\n");
    writeFileSync(`${folder}/train.jsonl`, rows.slice(0, 2).join("\n"));
    const earlier = ["trainer.resume_mode=resume_path", `trainer.resume_from_path=${folder}/run/global_step_2`];
    await expect(train(folder, [...SAVING, ...earlier])).rejects.toMatchObject({ code: "VERL_DATA_LOADER_STATE" });
    expect(read()).toEqual(before);
  });
});

describe("a run that is stopped in a validation", () => {
  it("finishes it, and the resumed run's record is that of a run that was not stopped", async () => {
    const whole = folderOf();
    await train(whole, SAVING);
    const folder = folderOf();
    const { result } = await train(folder, SAVING, { hook: stopInValidation });
    expect(result).toMatchObject({ step: 2, interrupted: true });
    await train(folder, SAVING);
    expect(record(folder)).toEqual(record(whole));
  });

  it("of the last step has completed", async () => {
    const { result } = await train(folderOf(), ["trainer.total_training_steps=1", "trainer.test_freq=5"], {
      hook: stopInValidation,
    });
    expect(result).toMatchObject({ step: 1, interrupted: false, model: expect.any(String) });
    expect(result.validation).toHaveProperty(["val-core/val/reward/mean@1"]);
  });

  it("before the first step gives it up", async () => {
    const { result, terminal } = await train(folderOf(), ["trainer.val_before_train=true"], { hook: stopInValidation });
    expect(result).toMatchObject({ step: 0, interrupted: true, validation: {} });
    expect(terminal).toContain("Stopped before the first step; the same command starts from the beginning.");
  });

  it("and fails there all the same, says so", async () => {
    const hook = function (this: AbortController, _: number, validating: boolean) {
      if (!validating) return;
      this.abort();
      throw new TypeError("no such key");
    };
    await expect(train(folderOf(), SAVING, { hook: hook })).rejects.toMatchObject({
      code: "VERL_REWARD_UNSCORED",
    });
  });
});

describe("a run that resumes with no step left", () => {
  it.each([2, 1])("says so, and leaves the model all the same: %i of 2 steps wanted", async (total) => {
    const folder = folderOf();
    await train(folder, ["trainer.total_training_steps=2", "trainer.save_freq=1"]);
    const { result, terminal } = await train(folder, [`trainer.total_training_steps=${total}`]);
    const steps = total === 1 ? "1 step" : "2 steps";
    expect(terminal).toContain(`Nothing was left to do: the checkpoint is of step 2, and the run has ${steps}.`);
    expect(terminal).not.toContain("Done:");
    expect(result).toMatchObject({ step: 2, interrupted: false, model: expect.any(String) });
  });
});

describe("a run that broke down behind its checkpoint", () => {
  /** Breaks down in the step after `steps`. */
  const breakAfter = (steps: number): Hook => {
    let trained = 0;
    return (_, validating) => {
      if (!validating && ++trained > steps * 8) throw new Error("broken");
    };
  };

  it("is resumed with the record of a run that did not, line for line", async () => {
    const whole = folderOf();
    await train(whole, SAVING);
    const folder = folderOf();
    await expect(train(folder, SAVING, { hook: breakAfter(3) })).rejects.toThrow();
    expect(metricsOf(`${folder}/run`).map(({ step }) => step)).toEqual([1, 2, 3]);
    // A kill may leave half a line.
    writeFileSync(`${folder}/run/metrics.jsonl`, '{"step":4,"da', { flag: "a" });
    await train(folder, SAVING);
    expect(record(folder)).toEqual(record(whole));
  });

  it("can go on from an earlier checkpoint of its own, which is then the latest", async () => {
    const whole = folderOf();
    await train(whole, SAVING);
    const back = ["trainer.resume_mode=resume_path", `trainer.resume_from_path=${whole}/run/global_step_2`];
    const expected = record(whole);
    await expect(train(whole, [...SAVING, ...back], { hook: breakAfter(1) })).rejects.toThrow();
    expect(metricsOf(`${whole}/run`).map(({ step }) => step)).toEqual([1, 2, 3]);
    const { terminal } = await train(whole, SAVING);
    expect(terminal).toContain("Resuming after step 2");
    expect(record(whole)).toEqual(expected);
  });
});

describe("a run in a used directory", () => {
  const SHORT = ["trainer.total_training_steps=2", "trainer.save_freq=1"];

  it("that starts afresh sets the earlier run aside, and never resumes from it", async () => {
    const folder = folderOf();
    await train(folder, SHORT, { facts: true });
    const stopped: Hook = function (this: AbortController) {
      throw new Error("broken");
    };
    const fresh = [...SHORT, "trainer.resume_mode=disable"];
    await expect(train(folder, fresh, { hook: stopped })).rejects.toThrow();
    // It broke after its first answers, which were traced at once.
    expect(readdirSync(`${folder}/run`).sort()).toEqual(["previous-1", "traces.jsonl"]);
    expect(readdirSync(`${folder}/run/previous-1`).sort()).toEqual([
      "global_step_1",
      "global_step_2",
      "huggingface",
      "latest_checkpointed_iteration.txt",
      "metrics.jsonl",
      "report.html",
      "rollouts.jsonl",
      "run.json",
      "traces.jsonl",
    ]);
    const { terminal } = await train(folder, SHORT);
    expect(terminal).not.toContain("Resuming");
    expect(terminal).toContain("previous-2");
    const third = await train(folder, fresh);
    expect(third.terminal).toContain("previous-3");
    expect(metricsOf(`${folder}/run`).map(({ step }) => step)).toEqual([1, 2]);
  });

  it("does not set aside what it reads", async () => {
    const folder = folderOf();
    await train(folder, SHORT);
    const before = readdirSync(`${folder}/run`);
    const reading = ["trainer.resume_mode=disable", `actor_rollout_ref.model.path=${folder}/run/huggingface`];
    await expect(train(folder, [...SHORT, ...reading])).rejects.toMatchObject({
      code: "VERL_TRAIN_DIRECTORY",
      message: expect.stringContaining("actor_rollout_ref.model.path"),
    });
    expect(readdirSync(`${folder}/run`)).toEqual(before);
  });

  it("names the keys of a resumed config that change the run, and those alone", async () => {
    const folder = folderOf();
    await train(folder, SHORT);
    const changed = [
      "actor_rollout_ref.actor.optim.lr=0.02",
      "trainer.seed=3",
      "trainer.total_training_steps=3",
      "data.val_batch_size=1",
    ];
    const { terminal } = await train(folder, [...SHORT, ...changed]);
    expect(terminal).toContain("actor_rollout_ref.actor.optim.lr (0.01 → 0.02), trainer.seed (0 → 3). The run");
    // The last run saved a checkpoint of its own.
    expect((await train(folder, [...SHORT, ...changed])).terminal).not.toContain("The config is not");
  });

  it("leaves no directory when it cannot start", async () => {
    const folder = folderOf();
    await expect(train(folder, ["actor_rollout_ref.model.path=nowhere"], { facts: true })).rejects.toThrow();
    expect(existsSync(`${folder}/run`)).toBe(false);
  });
});

describe("the lock of a run's directory", () => {
  const lock = (folder: string, pid: number, host = hostname()) => {
    mkdirSync(`${folder}/run`);
    writeFileSync(`${folder}/run/run.lock`, JSON.stringify({ pid, host }));
  };
  const ONE = ["trainer.total_training_steps=1"];

  it("keeps a second run out while the first goes on, and is gone after it", async () => {
    const folder = folderOf();
    let second: Promise<unknown> | undefined;
    const start = (): Promise<unknown> => {
      const trainer = PpoTrainer.create(ppoConfig(folder, ONE), { stream: recordingStream() });
      return trainer.then((run) => run.fit()).catch((error: unknown) => error);
    };
    // No answer of the first has a score before the second has ended.
    await train(folder, ONE, { hook: () => (second ??= start()) });
    expect(await second).toMatchObject({ code: "VERL_TRAIN_DIRECTORY_BUSY" });
    expect(existsSync(`${folder}/run/run.lock`)).toBe(false);
  });

  it("of a living process is respected, and named", async () => {
    const folder = folderOf();
    lock(folder, process.ppid);
    await expect(train(folder, ONE)).rejects.toMatchObject({
      code: "VERL_TRAIN_DIRECTORY_BUSY",
      message: expect.stringContaining(`process ${process.ppid}`),
    });
    expect(existsSync(`${folder}/run/run.lock`)).toBe(true);
  });

  it.each([
    ["a process that is gone", spawnSync(process.execPath, ["-e", ""]).pid, hostname()],
    ["an earlier process with this one's id", process.pid, hostname()],
    ["another machine", process.ppid, "elsewhere"],
  ])("of %s is taken over", async (_, pid, host) => {
    const folder = folderOf();
    lock(folder, pid, host);
    expect((await train(folder, ONE)).result.step).toBe(1);
  });

  it("that a kill left half written is taken over", async () => {
    const folder = folderOf();
    mkdirSync(`${folder}/run`);
    writeFileSync(join(folder, "run/run.lock"), "{");
    expect((await train(folder, ONE)).result.step).toBe(1);
  });
});

describe("a resumed SFT run", () => {
  it("has the record of one that was not stopped, and says nothing of random weights", async () => {
    const tune = async (folder: string, overrides: readonly string[] = []) => {
      const stream = recordingStream();
      const config = sftConfig(folder, ["trainer.total_training_steps=3", "trainer.save_freq=1", ...overrides]);
      await (await SftTrainer.create(config, { stream })).fit();
      return stream.text();
    };
    const [whole, folder] = [runFolder(), runFolder()];
    expect(await tune(whole)).toMatch(/the model starts from random weights/);
    await tune(folder);
    const earlier = `trainer.resume_from_path=${folder}/sft/global_step_2`;
    const resumed = await tune(folder, ["trainer.resume_mode=resume_path", earlier]);
    expect(resumed).toContain("Resuming after step 2");
    expect(resumed).not.toContain("random weights");
    expect(metricsOf(`${folder}/sft`).map(timeless)).toEqual(metricsOf(`${whole}/sft`).map(timeless));
  });
});
