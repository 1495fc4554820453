import { describe, expect, it } from "@jest/globals";
import type { ScoreFunction, ScoreInput } from "../../core/reward/reward-manager.ts";
import { requireScored, scoreBatch, unscoredMetrics } from "../../core/reward/score-batch.ts";
import { errorOf } from "../data/helpers.ts";
import { batchOf, createManager } from "./support.ts";

function managerOf(score: ScoreFunction, max_concurrent = 8, timeout_s = 60): ReturnType<typeof createManager> {
  return createManager("naive", { functions: { get: () => score }, options: { max_concurrent }, timeout_s });
}

describe("the naive reward manager", () => {
  it("calls the function with named arguments: real tokens only, special ones skipped", async () => {
    const seen: ScoreInput[] = [];
    const { manager } = managerOf((input) => seen.push(input));
    const batch = batchOf(["ab", "abcd"], {
      extra_info: [{ index: 7 }, null],
      __num_turns__: [2, 4],
      reward_model: [{ ground_truth: [1] }, null],
    });
    expect(await scoreBatch(manager, batch, { validate: false })).toEqual([
      { score: 1, extra: {} },
      { score: 2, extra: {} },
    ]);
    expect(seen).toEqual([
      {
        data_source: "s",
        solution_str: "ab",
        ground_truth: [1],
        extra_info: { index: 7, num_turns: 2 },
        signal: expect.any(AbortSignal),
      },
      {
        data_source: "s",
        solution_str: "abcd",
        ground_truth: undefined,
        extra_info: { num_turns: 4 },
        signal: expect.any(AbortSignal),
      },
    ]);
    expect(batch.column("extra_info")).toEqual([{ index: 7 }, null]);
  });

  it("leaves an answer without score when its function never settles, and tells the function so", async () => {
    let told: unknown;
    const { manager } = managerOf(
      ({ solution_str, signal }) =>
        solution_str === "a"
          ? new Promise(() => signal!.addEventListener("abort", () => (told = signal!.reason)))
          : Promise.resolve(1),
      8,
      0.02,
    );
    const rewards = await scoreBatch(manager, batchOf(["a", "b"]), { validate: false });
    expect(rewards).toEqual([
      { unscored: "timeout: timed out after 0.02 s", extra: {} },
      { score: 1, extra: {} },
    ]);
    expect(String(told)).toContain("timed out after 0.02 s");
  });

  it("gives up functions that hang when the run is stopped", async () => {
    const { manager } = managerOf(() => new Promise(() => undefined));
    const stop = new AbortController();
    const scored = scoreBatch(manager, batchOf(["a"]), { validate: false, signal: stop.signal });
    stop.abort(new Error("stopped"));
    await expect(scored).rejects.toThrow("stopped");
  });

  it("never turns a failure into a zero (case 46)", async () => {
    const results = [
      () => 1,
      () => {
        throw new Error("x");
      },
      () => 0,
      () => NaN,
      () => "1",
      () => Promise.reject(new TypeError("y")),
    ];
    let call = 0;
    const { manager, log } = managerOf((() => results[call++]!()) as ScoreFunction, 1);
    const rewards = await scoreBatch(manager, batchOf(["a", "b", "c", "d", "e", "f"]), { validate: false });
    expect(rewards.map((reward) => ("score" in reward ? reward.score : reward.unscored.replace(/:.*/s, "")))).toEqual([
      1,
      "error",
      0,
      "not_finite",
      "not_a_number",
      "error",
    ]);
    expect((rewards[1] as { unscored: string }).unscored).toBe("error: Error: x");
    expect(unscoredMetrics(rewards)).toEqual({
      "reward/unscored": 4,
      "reward/unscored/error": 2,
      "reward/unscored/not_finite": 1,
      "reward/unscored/not_a_number": 1,
      "reward/unscored_fraction": 4 / 6,
    });
    expect(log.lines).toContain("4 of 6 answers have no score.");
  });

  it("keeps the parts of an object, each row its own", async () => {
    const { manager } = managerOf(({ solution_str }) =>
      solution_str === "a" ? { score: 1, acc: 1 } : { score: 0, timeout: true },
    );
    expect(await scoreBatch(manager, batchOf(["a", "b"]), { validate: true })).toEqual([
      { score: 1, extra: { acc: 1 } },
      { score: 0, extra: { timeout: true } },
    ]);
  });

  it("runs asynchronous functions side by side, up to the bound", async () => {
    let running = 0;
    let most = 0;
    const { manager } = managerOf(async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      running -= 1;
      return 1;
    }, 3);
    await scoreBatch(manager, batchOf(Array.from({ length: 12 }, () => "a")), { validate: false });
    expect(most).toBe(3);
  });

  it("ends with the run, not with an unscored sample, when it is stopped", async () => {
    const controller = new AbortController();
    const { manager } = managerOf(
      ({ signal }) =>
        new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason as Error))),
    );
    const work = scoreBatch(manager, batchOf(["a"]), { validate: false, signal: controller.signal });
    controller.abort(new Error("stopped by the user"));
    await expect(work).rejects.toThrow("stopped by the user");
  });

  it("reports how long the calls of each function took", async () => {
    const functions = { get: () => () => 1, nameOf: (source: string) => `of_${source}` };
    const { manager, metrics, log } = createManager("naive", { functions });
    await scoreBatch(manager, batchOf(["a", "b", "c"], { data_source: ["s", "t", "t"] }), { validate: false });
    const names = ["of_s", "of_t"].flatMap((name) => ["p50", "p95", "max"].map((at) => `reward/time_s/${name}/${at}`));
    const reported = metrics.finish();
    expect(Object.keys(reported)).toEqual(names);
    for (const name of names) expect(reported[name]).toBeGreaterThan(0);
    expect(log.lines).toContainEqual(expect.stringMatching(/^The slowest call of of_t took \d/));
  });

  it("ends the run for a data source without function", async () => {
    const functions = {
      get: (source: string): ScoreFunction => {
        throw new Error(`no function for ${source}`);
      },
    };
    const { manager } = createManager("naive", { functions });
    await expect(scoreBatch(manager, batchOf(["a"]), { validate: false })).rejects.toThrow("no function for s");
  });
});

describe("scoreBatch", () => {
  it("keeps scores of loops, asks for the others, and gives an empty response none", async () => {
    const { manager } = managerOf(({ solution_str }) => solution_str.length);
    const rewards = await scoreBatch(manager, batchOf(["a", "", "abc"], { reward_score: [0.25, null, null] }), {
      validate: false,
    });
    expect(rewards[0]).toEqual({ score: 0.25, extra: {} });
    expect(rewards[1]).toMatchObject({ unscored: expect.stringMatching(/^empty_response/) });
    expect(rewards[2]).toEqual({ score: 3, extra: {} });
  });

  it("asks nobody when every row is settled", async () => {
    const { manager } = managerOf(() => {
      throw new Error("asked");
    });
    expect(await scoreBatch(manager, batchOf(["a"], { reward_score: [0] }), { validate: false })).toEqual([
      { score: 0, extra: {} },
    ]);
  });

  it("lets no score in that is not finite, from a loop or from a manager", async () => {
    const { manager } = managerOf(() => 1);
    manager.score = () => Promise.resolve([{ score: Infinity, extra: {} }]);
    const rewards = await scoreBatch(manager, batchOf(["a", "b"], { reward_score: [NaN, null] }), { validate: false });
    expect(unscoredMetrics(rewards)).toMatchObject({ "reward/unscored/not_finite": 2, "reward/unscored_fraction": 1 });
  });

  it("notices a manager that loses rows", async () => {
    const { manager } = managerOf(() => 1);
    manager.score = () => Promise.resolve([]);
    expect((await errorOf(() => scoreBatch(manager, batchOf(["a"]), { validate: false }))).code).toBe(
      "VERL_REWARD_RESULT",
    );
  });
});

describe("requireScored", () => {
  const scored = { score: 1, extra: {} };
  const failed = { unscored: "error: no network", extra: {} };
  const empty = { unscored: "empty_response: none", extra: {} };

  it("lets a share up to the limit pass, and does not count empty responses", () => {
    expect(() => requireScored([scored, scored, scored, failed], 0.25, ["a", "b", "c", "d"])).not.toThrow();
    expect(() => requireScored([empty, empty, scored], 0, ["a", "b", "c"])).not.toThrow();
    expect(() => requireScored([], 0, [])).not.toThrow();
  });

  it("stops past it with the reasons and the id of the first sample", async () => {
    const error = await errorOf(() => requireScored([scored, failed, failed, scored], 0.25, ["a", "b", "c", "d"]));
    expect(error.code).toBe("VERL_REWARD_UNSCORED");
    expect(error.message).toBe("2 of 4 answers have no score: 2 × error: no network (first: b).");
  });
});
