import { afterEach, describe, expect, it } from "@jest/globals";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { loadScoreFunctions } from "../../core/reward/score-functions.ts";
import { createScorer, type Scorer } from "../../core/reward/scorer.ts";
import type { Isolation } from "../../core/reward/pool/lane.ts";
import type { SampleReward } from "../../core/reward/reward-manager.ts";
import { errorOf, folderWith } from "../data/helpers.ts";

const FIXTURES = join(import.meta.dirname, "fixtures");

let scorer: Scorer | undefined;

afterEach(async () => {
  await scorer?.dispose();
  scorer = undefined;
});

interface Setup {
  isolation?: Isolation;
  name?: string;
  timeoutS?: number;
  workers?: number;
  memoryLimitMb?: number;
}

async function poolOf({ isolation = "process", name = "compute_score", timeoutS = 60, ...setup }: Setup = {}) {
  const { workers = 2, memoryLimitMb = 96 } = setup;
  const config = { path: "hostile.ts", name, reward_kwargs: {} };
  const functions = await loadScoreFunctions(config, FIXTURES);
  scorer = createScorer([functions], { timeoutS, maxConcurrent: 1, pool: { workers, isolation, memoryLimitMb } });
  await scorer.start();
  return scorer;
}

const callOf = (solution_str: string) => ({
  of: 0,
  input: { data_source: "s", solution_str, ground_truth: undefined, extra_info: {} },
});

async function score(pool: Scorer, answers: readonly string[], signal?: AbortSignal): Promise<SampleReward[]> {
  const scored = await pool.run(answers.map(callOf), signal);
  return scored.map(({ rewards: [reward] }) => reward!);
}

const brief = (reward: SampleReward): number | string => ("score" in reward ? reward.score : reward.unscored);

describe.each(["process", "thread"] as const)("a pool of a %s each", (isolation) => {
  it("ends what does not end, one sample alone, and stays whole", async () => {
    const pool = await poolOf({ isolation, timeoutS: 2 });
    const answers = [
      "a",
      "loop",
      "bb",
      isolation === "thread" ? "regex" : "microtasks",
      "ccc",
      "throw",
      "never",
      "nan",
    ];
    const late = "timeout: timed out after 2 s";
    expect((await score(pool, answers)).map(brief)).toEqual([
      1,
      late,
      2,
      late,
      3,
      expect.stringMatching(/^error: RangeError: no such answer \(.*hostile\.ts:\d+:\d+\)$/),
      late,
      "not_finite: the score function returned NaN",
    ]);
    expect((await score(pool, ["x", "yy", "zzz", "w"])).map(brief)).toEqual([1, 2, 3, 1]);
  }, 300_000);

  it("outlives a function that takes memory without end, or ends its host", async () => {
    const pool = await poolOf({ isolation });
    const ending = isolation === "thread" ? "heap" : "exit";
    const rewards = (await score(pool, [ending, "a", "stray", "bb"])).map(brief);
    expect(rewards).toEqual([
      ending === "heap"
        ? "memory: the score function took more than 96 MiB"
        : "error: the scoring process ended itself with code 3",
      1,
      expect.stringMatching(/^error: /),
      2,
    ]);
  }, 300_000);
});

describe("a pool of processes", () => {
  it("loses no call that waits in a host behind one that ends it", async () => {
    // Quick calls are posted ahead, so each of these has the next one waiting behind it.
    const pool = await poolOf({ timeoutS: 2, workers: 1 });
    const rewards = (await score(pool, ["a", "bb", "loop", "ccc", "exit", "dddd", "throw", "e"])).map(brief);
    expect(rewards).toEqual([
      1,
      2,
      "timeout: timed out after 2 s",
      3,
      "error: the scoring process ended itself with code 3",
      4,
      expect.stringMatching(/^error: RangeError/),
      1,
    ]);
  }, 300_000);

  it("loses none of many quick answers to those that end their process", async () => {
    const pool = await poolOf({ timeoutS: 2 });
    const answers = Array.from({ length: 300 }, (_, i) => "a".repeat(1 + (i % 7)));
    const faults = { 40: "loop", 90: "kill", 91: "kill", 150: "exit", 299: "loop" };
    Object.assign(answers, faults);
    const rewards = (await score(pool, answers)).map(brief);
    const late = "timeout: timed out after 2 s";
    const expected: unknown[] = answers.map((answer) => answer.length);
    Object.assign(expected, { 40: late, 299: late, 150: "error: the scoring process ended itself with code 3" });
    expected[90] = expected[91] = "memory: the score function took more than 96 MiB";
    expect(rewards).toEqual(expected);
  }, 300_000);

  it("hands on answers and results of any length", async () => {
    const pool = await poolOf({ workers: 1 });
    const [long, longer, short] = await score(pool, ["long", "é".repeat(6_000_000), "a"]);
    expect(long!.extra["text"]).toBe("é".repeat(300_000));
    expect([longer!, short!].map(brief)).toEqual([6_000_000, 1]);
  }, 300_000);

  it("has one call at a time, whatever waits behind it", async () => {
    const pool = await poolOf({ name: "alone", workers: 1 });
    const rewards = await score(pool, Array<string>(20).fill("a"));
    expect(rewards.map(brief)).toEqual(Array(20).fill(1));
  }, 300_000);

  it("ends one whose large tables or buffers fill the memory", async () => {
    const pool = await poolOf();
    const full = "memory: the score function took more than 96 MiB";
    expect((await score(pool, ["map", "a", "buffers", "bb"])).map(brief)).toEqual([full, 1, full, 2]);
  }, 300_000);

  it("leaves none behind", async () => {
    const pool = await poolOf({ timeoutS: 2, workers: 1 });
    const pids = new Set<number>();
    for (let round = 0; round < 2; round++) {
      for (const reward of await score(pool, ["a", "loop", "b", "c"])) {
        if ("score" in reward) pids.add(reward.extra["pid"] as number);
      }
    }
    expect(pids.size).toBeGreaterThan(2);
    await pool.dispose();
    const alive = [...pids].filter((pid) => existsSync(`/proc/${pid}`));
    expect(alive).toEqual([]);
  }, 300_000);

  it("gives up at once when the run ends, and scores again afterwards", async () => {
    const pool = await poolOf();
    const stop = new AbortController();
    const work = score(pool, ["loop", "loop", "loop"], stop.signal);
    setTimeout(() => stop.abort(new Error("the run has ended")), 50);
    await expect(work).rejects.toThrow("the run has ended");
    expect((await score(pool, ["a"])).map(brief)).toEqual([1]);
  }, 300_000);

  it("tells a function by its signal that its time is over", async () => {
    const pool = await poolOf({ name: "told", timeoutS: 0.2 });
    const file = join(folderWith({}), "told");
    // A process that does not run in the moments after its deadline is ended as it is.
    do expect((await score(pool, [file])).map(brief)).toEqual(["timeout: timed out after 0.2 s"]);
    while (!existsSync(file));
    expect(readFileSync(file, "utf8")).toContain("timed out after 0.2 s");
  }, 300_000);

  it("says before the first answer that a file does not load there", async () => {
    const folder = folderWith({
      "reward.mjs": `if (process.env.VERL_SCORE_HOST_BYTES) throw new Error("only in the trainer");
export const compute_score = () => 1;`,
    });
    const functions = await loadScoreFunctions(
      { path: "reward.mjs", name: "compute_score", reward_kwargs: {} },
      folder,
    );
    const pool = { workers: 1, isolation: "process", memoryLimitMb: 64 } as const;
    scorer = createScorer([functions], { timeoutS: 1, maxConcurrent: 1, pool });
    const error = await errorOf(() => scorer!.start());
    expect(error.code).toBe("VERL_REWARD_FUNCTION_FILE");
    expect(error.message).toContain("only in the trainer");
  }, 300_000);

  it("leaves a sample unscored that cannot be handed to another process", async () => {
    const pool = await poolOf({ workers: 1 });
    const { input } = callOf("a");
    const calls = [{ of: 0, input: { ...input, extra_info: { f: () => 1 } } }, callOf("bb")];
    const scored = await pool.run(calls);
    expect(scored.map(({ rewards: [reward] }) => brief(reward!))).toEqual([
      expect.stringMatching(/^error: the sample cannot be handed on: .*could not be cloned/),
      2,
    ]);
  }, 300_000);

  it("does not take functions that exist in this process alone", async () => {
    const pool = { workers: 1, isolation: "process", memoryLimitMb: 64 } as const;
    const make = () => createScorer([{ get: () => () => 1 }], { timeoutS: 1, maxConcurrent: 1, pool });
    expect((await errorOf(make)).code).toBe("VERL_REWARD_POOL");
  });
});
