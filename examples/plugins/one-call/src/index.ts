import { definePlugin, provide } from "verl";
import { OneCallLoop } from "./agent-loop.js";
import { SumTool } from "./tool.js";

export default definePlugin({
  name: "verl-plugin-one-call",
  version: "0.1.0",
  verl: "^0.1",
  provides: [
    provide("agent_loop", "one_call", {
      description: "One tool call at most, its result, and the answer.",
      metrics: { "agent_loop/called_count": "Answers that called a tool." },
      create: OneCallLoop,
    }),
    provide("tool", "sums", {
      description: "Adds and subtracts whole numbers.",
      create: SumTool,
    }),
  ],
});
