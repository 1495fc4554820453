import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testRewardManager } from "verl/testing";
import plugin from "../src/index.js";

registerPlugin(plugin);

testRewardManager("__key__", {
  describe,
  it,
  options: { price: 0.125 },
  cases: [
    {
      name: "a token costs an eighth",
      input: { answers: ["ab", "abcd"], ground_truth: ["ab", "x"], score: [1, 0] },
      expected: { scores: [0.75, -0.5] },
    },
  ],
});
