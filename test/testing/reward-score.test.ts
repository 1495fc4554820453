import { createHash } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { jest } from "@jest/globals";
import type { RewardScore, ScoreFunction } from "../../core/reward/index.ts";
import { testRewardScore, type RewardScoreCase } from "../../core/testing/index.ts";
import { faultsOfData, testFaults } from "./faults.ts";

// The slow one is waited for.
jest.setTimeout(300_000);

const score = (given: ScoreFunction): RewardScore => ({ description: "Right or wrong.", score: given });
const honest = score(({ solution_str, ground_truth }) => Number(solution_str === (ground_truth as { is: string }).is));
let calls = 0;

const CASE: RewardScoreCase = {
  name: "right",
  input: { solution_str: "4", ground_truth: { is: "4" }, extra_info: { tags: ["sum"] } },
  expected: { score: 1 },
};

testFaults("reward_score", {
  suite: testRewardScore,
  honest,
  cases: [CASE],
  wrongCases: [
    ["score is 1, not 0.5", { ...CASE, expected: { score: 0.5 } }],
    ["length is undefined, not 3", { ...CASE, expected: { score: 1, length: 3 } }],
  ],
  faults: [
    ...faultsOfData(honest),
    {
      property: "every answer has a finite score",
      words: "it threw",
      entry: score(({ solution_str }) => Number((/\d/.exec(solution_str) as RegExpExecArray)[0])),
    },
    {
      property: "every answer has a finite score",
      words: "not_finite",
      entry: score(({ solution_str }) => 1 / solution_str.length),
    },
    {
      property: "every answer has a finite score",
      words: "the part length is not finite",
      entry: score(({ solution_str }) => ({ score: 0, length: Math.log(solution_str.length) })),
    },
    { property: "the same answer has the same score", words: "it gives", entry: score(() => calls++) },
    {
      property: "inputs are not written",
      words: "it changed its input to",
      entry: score((input) => {
        (input.ground_truth as { is: string }).is = "other";
        return 0;
      }),
    },
    {
      property: "inputs are not written",
      words: "it changed its input to",
      entry: score(({ extra_info }) => {
        (extra_info["tags"] as string[]).push("seen");
        return 0;
      }),
    },
    {
      property: "long answers do not take long",
      words: "50000 characters of",
      entry: score(async ({ solution_str }) => {
        if (solution_str.length > 1000) await setTimeout(5_100);
        return createHash("md5").update(solution_str).digest()[0]!;
      }),
    },
  ],
});
