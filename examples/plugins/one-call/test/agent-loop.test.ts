import { describe, it } from "node:test";
import { AGENT_PARTS, createRunContainer, loadPlugins, registerPlugin } from "verl";
import { testAgentLoop } from "verl/testing";
import plugin from "../src/index.js";
import { SumTool } from "../src/tool.js";

await loadPlugins([]);
registerPlugin(plugin);

/** What a run would have made of the tools file: the one tool, and the parser of `multi_turn.format`. */
const tool = new SumTool();
const parts = {
  parser: createRunContainer().create("tool_parser", "hermes"),
  toolsOf: () => Promise.resolve(new Map([["calc", { tool, schema: tool.schema, faults: () => undefined }]])),
};

const call = (e: string): string => `<tool_call>{"name": "calc", "arguments": {"e": "${e}"}}</tool_call>`;

testAgentLoop("one_call", {
  describe,
  it,
  values: { [AGENT_PARTS]: parts },
  cases: [
    {
      name: "a call, its result and the answer; only what the model said is trained on",
      input: { prompt: "1+2", answers: [call("1+2"), "=3"] },
      expected: {
        response: `${call("1+2")}\0tool:3\0assistant:=3\0`,
        trained: `${call("1+2")}\0=3\0`,
        stopReason: "stop",
        numTurns: 4,
      },
    },
    {
      name: "an answer without a call",
      input: { prompt: "1+2", answers: ["=3"] },
      expected: { response: "=3\0", stopReason: "stop", numTurns: 2 },
    },
    {
      name: "a call that is refused is told so",
      input: { prompt: "1+2", answers: [call("exit()"), "?"] },
      expected: { trained: `${call("exit()")}\0?\0`, numTurns: 4 },
    },
    {
      name: "no room for the result",
      input: { prompt: "1+2", answers: [call("1+2")], max_tokens: call("1+2").length + 5 },
      expected: { trained: `${call("1+2")}\0`, stopReason: "length", numTurns: 3 },
    },
  ],
});
