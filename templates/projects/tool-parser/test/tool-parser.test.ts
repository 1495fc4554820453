import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testToolParser } from "verl/testing";
import plugin from "../src/index.js";

registerPlugin(plugin);

testToolParser("__key__", {
  describe,
  it,
  cases: [
    {
      name: "a call after words",
      input: { text: 'Oslo, then. <tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>' },
      expected: { content: "Oslo, then.", calls: [{ name: "get_weather", arguments: { city: "Oslo" } }] },
    },
    {
      name: "two calls",
      input: {
        text: '<tool_call>{"name":"f","arguments":{}}</tool_call>\n<tool_call>{"name":"g","arguments":{"n":1}}</tool_call>',
      },
      expected: {
        calls: [
          { name: "f", arguments: {} },
          { name: "g", arguments: { n: 1 } },
        ],
      },
    },
    {
      name: "no JSON is an error, not a call",
      input: { text: "<tool_call>get_weather(Oslo)</tool_call>" },
      expected: { errors: ["JSON"] },
    },
  ],
});
