import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "@jest/globals";
import { RewardStream } from "../../core/reward/reward-stream.ts";
import type { RewardManager, SampleReward, ScoreFunction } from "../../core/reward/reward-manager.ts";
import { scoreBatch } from "../../core/reward/score-batch.ts";
import { errorOf } from "../data/helpers.ts";
import { serve } from "./service.ts";
import { batchOf, createManager } from "./support.ts";

const ANSWERS = ["ab", "", "c", "bad", "abcd", "d"];

/** Different for each answer, and of every kind. */
const score: ScoreFunction = async ({ solution_str }) => {
  await setImmediate();
  if (solution_str === "bad") throw new Error("it is bad");
  return { score: solution_str.length / 4, first: solution_str < "b", odd: solution_str === "c" ? NaN : 1 };
};

const batch = batchOf(ANSWERS, { reward_score: [null, null, null, null, 7, null] });

const streamOf = (manager: RewardManager, signal = new AbortController().signal): RewardStream =>
  new RewardStream(manager.open!({ validate: false, signal }));

/** Adds the rows in the given order, and ends with those of `kept`. */
function streamed(manager: RewardManager, order: readonly number[], kept: readonly number[]): Promise<SampleReward[]> {
  const stream = streamOf(manager);
  for (const row of order) stream.add(batch.index([row]));
  return stream.end(kept.map((row) => order.indexOf(row)));
}

const names = (metrics: Record<string, number>): string[] => Object.keys(metrics).sort();

const unscoredLines = (lines: readonly string[]): string[] => lines.filter((line) => line.includes("have no score"));

describe.each([
  ["naive", {}],
  ["dapo", { overlong_buffer_cfg: { enable: true, len: 2, log: true }, max_resp_len: 4 }],
  ["rate_limited", { max_concurrent: 4 }],
] as const)("rows that come one by one, with the manager %s", (key, options) => {
  const setup = () => createManager(key, { functions: { get: () => score }, options });

  it("have the rewards, counts and metrics of the batch, in its order", async () => {
    const [whole, parts] = [setup(), setup()];
    const want = await scoreBatch(whole.manager, batch, { validate: false });
    const got = await streamed(parts.manager, [4, 2, 0, 5, 1, 3], [0, 1, 2, 3, 4, 5]);
    expect(got).toEqual(want);
    expect(want.filter((reward) => "unscored" in reward)).toHaveLength(2);
    expect(names(parts.metrics.finish())).toEqual(names(whole.metrics.finish()));
    expect(unscoredLines(parts.log.lines)).toEqual(["1 of 4 answers have no score."]);
    expect(unscoredLines(whole.log.lines)).toEqual(["1 of 4 answers have no score."]);
  });

  it("count nowhere where they were given up", async () => {
    const { manager, log } = setup();
    expect(await streamed(manager, [3, 0, 4], [4, 0])).toEqual([
      { score: 7, extra: {} },
      expect.objectContaining({ score: expect.any(Number) }),
    ]);
    expect(unscoredLines(log.lines)).toEqual([]);
  });
});

describe("a batch whose rows come one by one", () => {
  it("has a row scored while others have not come", async () => {
    const events: string[] = [];
    const functions = {
      get:
        () =>
        ({ solution_str }: { solution_str: string }) =>
          events.push(solution_str),
    };
    const stream = streamOf(createManager("naive", { functions }).manager);
    for (const row of [0, 2]) {
      stream.add(batch.index([row]));
      await setImmediate();
      events.push("later");
    }
    await stream.end([0, 1]);
    expect(events).toEqual(["ab", "later", "c", "later"]);
  });

  it("shares the limit of calls at once among its rows", async () => {
    let [running, most] = [0, 0];
    const counting = async (): Promise<number> => {
      most = Math.max(most, ++running);
      await setImmediate();
      running -= 1;
      return 1;
    };
    const { manager } = createManager("naive", { functions: { get: () => counting }, options: { max_concurrent: 2 } });
    const stream = streamOf(manager);
    for (let row = 0; row < 8; row++) stream.add(batch.index([0]));
    expect(await stream.end([0, 1, 2, 3, 4, 5, 6, 7])).toHaveLength(8);
    expect(most).toBe(2);
  });

  it("tells at its end what the config has wrong, and is ended by its signal", async () => {
    const none = () => {
      throw new TypeError("no function");
    };
    const failing = streamOf(createManager("naive", { functions: { get: none } }).manager);
    failing.add(batch.index([0]));
    await expect(failing.end([0])).rejects.toThrow("no function");

    const stop = new AbortController();
    const hanging = () => new Promise<number>(() => undefined);
    const stream = streamOf(createManager("naive", { functions: { get: () => hanging } }).manager, stop.signal);
    stream.add(batch.index([0]));
    const ended = stream.end([0]);
    stop.abort(new Error("stopped"));
    await expect(ended).rejects.toThrow("stopped");
  });

  it("holds a manager to one result a row", async () => {
    const stream = new RewardStream({ add: () => undefined, end: () => Promise.resolve([]) });
    stream.add(batch.index([0]));
    expect(await errorOf(() => stream.end([0]))).toMatchObject({ code: "VERL_REWARD_RESULT" });
    const thrower = new RewardStream({
      add: () => {
        throw new Error("cannot read it");
      },
      end: () => Promise.resolve([]),
    });
    thrower.add(batch.index([0]));
    await expect(thrower.end([0])).rejects.toThrow("cannot read it");
  });

  it("fills the requests of a service, and sends the last when no more come", async () => {
    const sizes: number[] = [];
    const service = await serve(({ body }) => {
      const samples = body["samples"] as { solution_str: string }[];
      sizes.push(samples.length);
      return { json: { results: samples.map(({ solution_str }) => solution_str.length) } };
    });
    try {
      const options = { url: service.url, batch_size: 2 };
      const { manager, metrics } = createManager("remote", { options });
      const want = await scoreBatch(manager, batch, { validate: false });
      expect(await streamed(manager, [5, 3, 2, 1, 0, 4], [0, 1, 2, 3, 4, 5])).toEqual(want);
      expect(sizes).toEqual([2, 2, 2, 2]);
      expect(metrics.finish()).toHaveProperty(["reward/time_s/remote/max"]);

      const stream = streamOf(manager);
      for (const row of [0, 2, 3]) stream.add(batch.index([row]));
      while (sizes.length < 5) await setImmediate();
      expect(sizes.at(-1)).toBe(2);
      await stream.end([0, 1, 2]);
      expect(sizes.at(-1)).toBe(1);
    } finally {
      await service.close();
    }
  });

  it("is no matter of managers that need the whole batch", () => {
    const file = `${import.meta.dirname}/fixtures/pool.ts`;
    const { manager } = createManager("batch", { functions: { get: () => () => 1, file } });
    expect("open" in manager).toBe(false);
  });
});
