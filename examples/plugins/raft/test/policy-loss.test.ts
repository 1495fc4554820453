import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testPolicyLoss } from "verl/testing";
import plugin from "../src/index.js";

registerPlugin(plugin);

/** Two answers of two tokens, on policy; the first has a reward. */
const input = {
  log_probs: [
    [-1, -2],
    [-1, -2],
  ],
  old_log_probs: [
    [-1, -2],
    [-1, -2],
  ],
  advantages: [
    [0, 0],
    [0, 0],
  ],
  response_mask: [
    [1, 1],
    [1, 1],
  ],
  token_level_rewards: [
    [0, 1],
    [0, 0],
  ],
};

testPolicyLoss("raft", {
  describe,
  it,
  cases: [
    {
      name: "the answer with a reward is learnt from, the other is not",
      input,
      expected: {
        loss: -0.5,
        gradient: [
          [-0.25, -0.25],
          [0, 0],
        ],
        metrics: { "actor/raft_chosen": 0.5 },
      },
    },
    {
      name: "beyond 1 + ε nothing is gained",
      input: {
        log_probs: [[Math.log(1.5)]],
        old_log_probs: [[0]],
        advantages: [[0]],
        response_mask: [[1]],
        token_level_rewards: [[1]],
      },
      expected: { loss: -1.2, gradient: [[0]], metrics: { "actor/raft_clipfrac": 1 } },
    },
  ],
});

testPolicyLoss("raft", {
  describe,
  it,
  options: { threshold: 1 },
  cases: [
    {
      name: "above the threshold, not at it",
      input: {
        ...input,
        token_level_rewards: [
          [0, 1],
          [0, 2],
        ],
      },
      expected: {
        loss: -0.5,
        gradient: [
          [0, 0],
          [-0.25, -0.25],
        ],
        metrics: { "actor/raft_chosen": 0.5 },
      },
    },
  ],
});
