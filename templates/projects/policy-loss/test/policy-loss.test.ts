import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testPolicyLoss } from "verl/testing";
import plugin from "../src/index.js";

registerPlugin(plugin);

testPolicyLoss("__key__", {
  describe,
  it,
  cases: [
    {
      name: "on policy the loss is −A and its slope too",
      input: {
        log_probs: [[-1, -2]],
        old_log_probs: [[-1, -2]],
        advantages: [[1, -3]],
        response_mask: [[1, 1]],
      },
      expected: { loss: 1, gradient: [[-0.5, 1.5]] },
    },
    {
      name: "at a ratio of 1 + ε the gain is half of ε and the slope is 0",
      input: {
        log_probs: [[Math.log(1.2)]],
        old_log_probs: [[0]],
        advantages: [[1]],
        response_mask: [[1]],
      },
      expected: { loss: -1.1, gradient: [[0]], metrics: { "actor/spo_penalty": 0.1 } },
    },
  ],
});
