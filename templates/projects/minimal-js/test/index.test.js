import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testRewardScore } from "verl/testing";
import plugin from "../index.js";

registerPlugin(plugin);

testRewardScore("__key__", {
  describe,
  it,
  cases: [
    { name: "a right answer", input: { solution_str: "abc", ground_truth: "abc" }, expected: { score: 1 } },
    { name: "a right start", input: { solution_str: "abxx", ground_truth: "abcd" }, expected: { score: 0.5 } },
  ],
});
