import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testAdvEst, testPolicyLoss } from "verl/testing";
import plugin from "../src/index.js";

registerPlugin(plugin);

testAdvEst("__key__", {
  describe,
  it,
  cases: [
    {
      name: "three answers to one prompt",
      input: { token_level_rewards: [[3], [0], [0]], response_mask: [[1], [1], [1]], uid: ["a", "a", "a"] },
      expected: { advantages: [[3], [-1.5], [-1.5]] },
    },
  ],
});

testPolicyLoss("__key__", {
  describe,
  it,
  options: { entropy_bonus: 0.5 },
  cases: [
    {
      name: "A less the bonus, times log π",
      input: { log_probs: [[-1, -2]], old_log_probs: [[-1, -2]], advantages: [[1, -1]], response_mask: [[1, 1]] },
      expected: { loss: -1.25, gradient: [[-0.25, 0.75]], metrics: { "actor/sampled_entropy": 1.5 } },
    },
  ],
});
