import { afterEach, describe, expect, it } from "@jest/globals";
import { join } from "node:path";
import type { RewardManager } from "../../core/reward/reward-manager.ts";
import { loadScoreFunctions } from "../../core/reward/score-functions.ts";
import { scoreBatch } from "../../core/reward/score-batch.ts";
import { errorOf } from "../data/helpers.ts";
import { batchOf, createManager } from "./support.ts";

let manager: RewardManager | undefined;

afterEach(() => manager?.dispose?.());

async function multi(functions: Record<string, object>, options: Record<string, unknown> = {}) {
  const directory = join(import.meta.dirname, "fixtures");
  const own = await loadScoreFunctions({ path: null, name: "compute_score", reward_kwargs: {} }, directory);
  const created = createManager("multi", { functions: own, options: { functions, ...options } });
  manager = created.manager;
  return created;
}

const EXACT = { path: "rewards.ts", name: "exact", weight: 2 };
const STYLE = { path: "rewards.ts", name: "style" };
const truth = (...texts: string[]) => ({ reward_model: texts.map((ground_truth) => ({ ground_truth })) });

describe("the multi reward manager", () => {
  it.each([{}, { pooled: true }])(
    "sums the functions by weight and reports each (%j)",
    async (options) => {
      const { manager, metrics } = await multi({ exact: EXACT, style: STYLE }, options);
      const rewards = await scoreBatch(manager, batchOf(["a", "c"], truth("a", "d")), { validate: false });
      expect(rewards).toEqual([
        { score: 2.5, extra: { exact: 1, "exact/exact": true, style: 0.5 } },
        { score: 0.5, extra: { exact: 0, "exact/exact": false, style: 0.5 } },
      ]);
      const reported = Object.keys(metrics.finish());
      expect(reported).toEqual(expect.arrayContaining(["reward/time_s/exact/p50", "reward/time_s/style/max"]));
    },
    30_000,
  );

  it("leaves an answer unscored that lacks a part, and names the part", async () => {
    const { manager, metrics } = await multi({ exact: EXACT, style: STYLE });
    const [reward] = await manager.score(batchOf(["b"]), { validate: false });
    expect(reward).toEqual({
      unscored: "not_a_number: style: not_a_number: the score function returned null",
      extra: { exact: 1, "exact/exact": true, style: null },
    });
    expect(metrics.finish()).toMatchObject({ "reward/missing/style/count": 1 });
  });

  it("sums the others where the part is optional, and counts what is missing", async () => {
    const { manager, metrics } = await multi({ exact: EXACT, style: { ...STYLE, optional: true } });
    const rewards = await manager.score(batchOf(["b", "bb", "c"]), { validate: false });
    expect(rewards.map((reward) => "score" in reward && [reward.score, reward.extra["style"]])).toEqual([
      [2, null],
      [2, null],
      [2.5, 0.5],
    ]);
    expect(metrics.finish()).toMatchObject({ "reward/missing/style/count": 2 });
    const alone = await multi({ style: { ...STYLE, optional: true } });
    const [none] = await alone.manager.score(batchOf(["b"]), { validate: false });
    expect(none).toEqual({ unscored: "error: no part of the reward has a score", extra: { style: null } });
  });

  it("takes registered functions by key, with their options, and by data source", async () => {
    const { manager } = await multi({
      math: { name: "math_reward", reward_kwargs: { mode: "strict" }, weight: 0.5 },
      own: { name: "compute_score" },
    });
    const batch = batchOf(["ab"], { data_source: ["openai/gsm8k"] });
    const [reward] = await manager.score(batch, { validate: false });
    expect(reward).toMatchObject({ score: 0, extra: { math: 0, "math/matched_rule": "no_box", own: 0 } });
  });

  it("says what is wrong with its functions", async () => {
    expect((await errorOf(() => multi({}))).code).toBe("VERL_OPTIONS_INVALID");
    const misspelt = await errorOf(() => multi({ exact: { ...EXACT, wieght: 1 } }));
    expect(misspelt.message).toContain("`functions.exact.wieght`");
    const { manager } = await multi({ exact: { ...EXACT, name: "exakt" } });
    const place = "reward_model.reward_kwargs.functions.exact";
    expect(await errorOf(() => manager.load!())).toMatchObject({
      code: "VERL_REWARD_FUNCTION_EXPORT",
      location: { path: `${place}.path` },
      hint: expect.stringContaining(`${place}.name=`) as unknown,
    });
    const { manager: nowhere } = await multi({ exact: { ...EXACT, path: "nope.ts" } });
    expect(await errorOf(() => nowhere.load!())).toMatchObject({
      code: "VERL_REWARD_FUNCTION_FILE",
      hint: expect.stringContaining(`${place}.path`) as unknown,
    });
  });
});
