import { join } from "node:path";
import { afterEach, expect, it } from "@jest/globals";
import { NdArray } from "../../core/batch/nd-array.ts";
import { LOGGER, type Logger } from "../../core/registry/index.ts";
import { loadScoreFunctions } from "../../core/reward/score-functions.ts";
import { createScorer, type Scorer } from "../../core/reward/scorer.ts";
import { requireScored, scoreBatch, unscoredMetrics } from "../../core/reward/score-batch.ts";
import { layOutRewards } from "../../core/trainer/ppo-rewards.ts";
import { grpo } from "../../plugins/advantage/grpo.ts";
import { errorOf } from "../data/helpers.ts";
import { batchOf, createManager } from "./support.ts";

/** What people reported of rewards that fail or hang, by the number of the case. */

const FIXTURES = join(import.meta.dirname, "fixtures");
let scorer: Scorer | undefined;

afterEach(() => scorer?.dispose());

function throwing({ solution_str }: { solution_str: string }): number {
  if (solution_str === "b") throw new Error("x");
  return solution_str === "a" ? 1 : 0;
}

it("case 46: a checker that throws is no zero, in the batch, in the metrics, in the log and in its group", async () => {
  const told: [string, unknown][] = [];
  const write = (message: string, details?: unknown): void => void told.push([message, details]);
  const log: Logger = { debug: () => undefined, info: write, warn: write, warnOnce: (_code, text) => write(text) };
  const { manager } = createManager("naive", { functions: { get: () => throwing }, values: { [LOGGER]: log } });
  const batch = batchOf(["a", "b", "c"]);
  const rewards = await scoreBatch(manager, batch, { validate: false });
  expect(rewards).toEqual([
    { score: 1, extra: {} },
    { unscored: "error: Error: x", extra: {} },
    { score: 0, extra: {} },
  ]);
  expect(unscoredMetrics(rewards)).toMatchObject({ "reward/unscored/error": 1 });
  expect(told).toEqual([
    ["1 of 3 answers have no score.", undefined],
    [expect.stringMatching(/^No score for u1 \(.+\): error: Error: x; its answer: "b"$/), undefined],
  ]);

  const { token_level_scores, unscored } = layOutRewards(rewards, batch);
  expect([...unscored.data]).toEqual([0, 1, 0]);
  const { advantages } = grpo.compute(
    {
      token_level_rewards: token_level_scores,
      response_mask: new NdArray("float32", [3, 4], new Float32Array(12).fill(1)),
      uid: ["g", "g", "g"],
      unscored: unscored.data,
    },
    { gamma: 1, lam: 1, norm_adv_by_std_in_grpo: false, adv_kwargs: {} },
    { metric: () => undefined },
  );
  // The mean is that of the two that have a score.
  expect([0, 1, 2].map((row) => advantages.row(row).data[0])).toEqual([0.5, 0, -0.5]);

  // The step fails where no failure is to be borne.
  const error = await errorOf(() => requireScored(rewards, 0, ["u0", "u1", "u2"]));
  expect(error.message).toContain("1 × error: Error: x (first: u1)");
});

it.each(["process", "thread"] as const)(
  "case 43: graded in a %s, a percentage ends with a score",
  async (isolation) => {
    const file = { path: "prime-math.ts", name: "compute_score", reward_kwargs: {} };
    const functions = await loadScoreFunctions(file, FIXTURES);
    const pool = { workers: 1, isolation, memoryLimitMb: 96 };
    scorer = createScorer([functions], { timeoutS: 20, maxConcurrent: 1, pool });
    const truths = ["7.41\\%", "7.41", "0.0741", "\\frac{}{}\\%", "%"];
    const input = { data_source: "s", solution_str: "so \\boxed{7.41\\%} holds", extra_info: {} };
    const scored = await scorer.run(truths.map((ground_truth) => ({ of: 0, input: { ...input, ground_truth } })));
    expect(scored.map(({ rewards: [reward] }) => reward)).toMatchObject([1, 1, 0, 0, 0].map((score) => ({ score })));
  },
);
