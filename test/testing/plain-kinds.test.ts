import { loadPlugins, registries } from "../../core/registry/index.ts";
import {
  testAgentLoop,
  testInteraction,
  testRewardManager,
  testRewardScore,
  testTool,
  type RewardScoreCase,
} from "../../core/testing/index.ts";

await loadPlugins([]);

const right = (solution_str: string, ground_truth: unknown): RewardScoreCase => ({
  name: "right",
  input: { solution_str, ground_truth },
  expected: { score: 1 },
});

/** A right answer for each score function; those of services are tested against a service, in test/reward-score. */
const SCORES: Readonly<Record<string, RewardScoreCase>> = {
  geo3k: right("<think>so</think> \\boxed{42}", "42"),
  gsm8k: right("so #### 42", "42"),
  math_dapo: right("Answer: 42", "42"),
  math_reward: right("so \\boxed{42}", "42"),
  prime_math: right("so \\boxed{42}", "42"),
  search_r1: right("<answer>Oslo</answer>", { target: ["Oslo"] }),
};

for (const key of registries.reward_score.keys().filter((key) => key !== "sandbox_fusion"))
  testRewardScore(key, { cases: [SCORES[key]!] });

for (const key of ["dapo", "naive"])
  testRewardManager(key, {
    cases: [
      { name: "two answers", input: { answers: ["ab", "c"], score: [1, 0.5] }, expected: { scores: [1, 0.5] } },
      { name: "one that cannot be scored", input: { answers: ["a"], score: [NaN] }, expected: { scores: [null] } },
    ],
  });

testTool("calculator", {
  cases: [
    { name: "a product", input: { arguments: { expression: "6 * 7" } }, expected: { content: "42" } },
    { name: "no expression", input: { arguments: { expression: "six" } }, expected: { error: "six" } },
  ],
});

testTool("gsm8k", {
  cases: [
    {
      name: "a right answer",
      input: { arguments: { answer: "42" }, create_kwargs: { ground_truth: "42" } },
      expected: { reward: 0 },
    },
    {
      name: "no answer",
      input: { arguments: { answer: "41" }, create_kwargs: { ground_truth: "42" } },
      expected: { reward: -0.05 },
    },
  ],
});

testInteraction("gsm8k", {
  cases: [
    {
      name: "wrong, then right",
      input: { answers: ["#### 41", "#### 42"], interaction_kwargs: { ground_truth: "42" } },
      expected: {
        turns: [
          { terminate: false, score: 0 },
          { terminate: true, score: 1 },
        ],
      },
    },
  ],
});

testAgentLoop("single_turn_agent", {
  cases: [
    {
      name: "one answer",
      input: { prompt: "hi", answers: ["ho"] },
      expected: { response: "ho\0", trained: "ho\0", stopReason: "stop", numTurns: 2 },
    },
  ],
});

const echo = (text: string): string => `<tool_call>{"name": "echo", "arguments": {"text": "${text}"}}</tool_call>`;

testAgentLoop("tool_agent", {
  cases: [
    {
      name: "a call, its result and the answer",
      input: { prompt: "hi", answers: [echo("ho"), "so"] },
      expected: { trained: `${echo("ho")}\0so\0`, numTurns: 4 },
    },
  ],
});
