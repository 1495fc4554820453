import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testInteraction } from "verl/testing";
import plugin from "../src/index.js";

registerPlugin(plugin);

testInteraction("__key__", {
  describe,
  it,
  cases: [
    {
      name: "right at the second try",
      input: { answers: ["ba", "ab"], interaction_kwargs: { ground_truth: "ab" } },
      expected: {
        turns: [
          { terminate: false, content: "no", score: 0 },
          { terminate: true, score: 1 },
        ],
      },
    },
  ],
});
