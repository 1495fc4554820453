import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testAgentLoop } from "verl/testing";
import plugin from "../src/index.js";

registerPlugin(plugin);

testAgentLoop("__key__", {
  describe,
  it,
  cases: [
    {
      name: "a short answer is kept",
      input: { prompt: "hi", answers: ["ho"] },
      expected: { trained: "ho\0", stopReason: "stop", extraFields: { tries: 1 } },
    },
    {
      name: "a long one is asked for again",
      input: { prompt: "hi", answers: ["too long", "ho"], max_tokens: 5 },
      expected: { trained: "ho\0", stopReason: "stop", extraFields: { tries: 2 } },
    },
    {
      name: "but not for ever",
      input: { prompt: "hi", answers: ["too long", "again"], max_tokens: 5 },
      expected: { trained: "again", stopReason: "length" },
    },
  ],
});
