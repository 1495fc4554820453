import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testAdvEst } from "verl/testing";
import plugin from "../src/index.js";

registerPlugin(plugin);

testAdvEst("__key__", {
  describe,
  it,
  cases: [
    {
      name: "two answers to one prompt",
      input: {
        token_level_rewards: [
          [0, 1, 0],
          [0, 0, 0],
        ],
        response_mask: [
          [1, 1, 0],
          [1, 1, 1],
        ],
        uid: ["a", "a"],
      },
      expected: {
        advantages: [
          [0.5, 0.5, 0],
          [-0.5, -0.5, -0.5],
        ],
      },
    },
    {
      name: "an outlier is cut",
      input: { token_level_rewards: [[4], [0]], response_mask: [[1], [1]], uid: ["a", "a"] },
      expected: { advantages: [[1], [-1]], metrics: { "advantage/bounded": 1 } },
    },
  ],
});
