import { afterEach, describe, expect, it } from "@jest/globals";
import { join } from "node:path";
import type { RewardManager } from "../../core/reward/reward-manager.ts";
import { loadScoreFunctions } from "../../core/reward/score-functions.ts";
import { errorOf } from "../data/helpers.ts";
import { batchOf, createManager } from "./support.ts";

let manager: RewardManager | undefined;

afterEach(() => manager?.dispose?.());

async function batchManager(name: string, options: Record<string, unknown> = {}, path: string | null = "rewards.ts") {
  const config = { path, name, reward_kwargs: { bonus: 1 } };
  const functions = await loadScoreFunctions(config, join(import.meta.dirname, "fixtures"));
  const created = createManager("batch", { functions, options });
  manager = created.manager;
  return created;
}

describe("the batch reward manager", () => {
  it.each([{}, { pooled: true }])(
    "calls the function once, with lists (%j)",
    async (options) => {
      const { manager, metrics } = await batchManager("whole", options);
      const batch = batchOf(["a", "b", "abc"], { __num_turns__: [2, 2, 4] });
      const part = (truth: string, turns: number) => ({ truth, source: "s", turns });
      expect(await manager.score(batch, { validate: false })).toEqual([
        { score: 2, extra: part("a", 2) },
        { unscored: "not_finite: the score function returned NaN", extra: {} },
        { score: 4, extra: part("abc", 4) },
      ]);
      expect(Object.keys(metrics.finish())).toContain("reward/time_s/whole/p95");
    },
    30_000,
  );

  it("leaves all answers unscored when it throws", async () => {
    const { manager } = await batchManager("failing");
    const rewards = await manager.score(batchOf(["a", "b"]), { validate: false });
    const unscored = expect.stringMatching(/^error: Error: no network \(.*rewards\.ts:\d+:\d+\)$/);
    expect(rewards).toEqual([
      { unscored, extra: {} },
      { unscored, extra: {} },
    ]);
  });

  it.each([{}, { pooled: true }])(
    "ends the run for a list of another length (%j)",
    async (options) => {
      const { manager } = await batchManager("short", options);
      const error = await errorOf(() => manager.score(batchOf(["a", "b", "c"]), { validate: false }));
      expect(error.code).toBe("VERL_REWARD_RESULT");
      expect(error.message).toContain("2 results for a batch of 3 answers");
    },
    30_000,
  );

  it("needs a file: registered functions score one answer", async () => {
    expect((await errorOf(() => batchManager("compute_score", {}, null))).code).toBe("VERL_REWARD_NO_FUNCTION");
  });
});
