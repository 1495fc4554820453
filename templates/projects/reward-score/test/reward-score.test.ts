import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testRewardScore } from "verl/testing";
import plugin from "../src/index.js";

registerPlugin(plugin);

testRewardScore("__key__", {
  describe,
  it,
  cases: [
    {
      name: "a right answer",
      input: { solution_str: "abc", ground_truth: "abc" },
      expected: { score: 1, exact: true },
    },
    {
      name: "one letter of four is wrong",
      input: { solution_str: "abcx", ground_truth: "abcd" },
      expected: { score: 0.75, exact: false },
    },
    {
      name: "letters beyond the answer count against it",
      input: { solution_str: "abcd", ground_truth: "ab" },
      expected: { score: 0.5, exact: false },
    },
  ],
});
