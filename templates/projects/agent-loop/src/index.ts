import { definePlugin, provide } from "verl";
import { PatientLoop } from "./agent-loop.js";

export default definePlugin({
  name: "__name__",
  version: "__version__",
  verl: "__api__",
  provides: [
    provide("agent_loop", "__key__", {
      description: "One answer a prompt, asked for again while it runs into the length limit.",
      optionsSchema: {
        type: "object",
        additionalProperties: false,
        properties: {
          tries: { type: "integer", minimum: 1, default: 2, description: "Answers that are asked for at most." },
        },
      },
      metrics: { "agent_loop/asked_again_count": "Answers that were thrown away for their length." },
      create: PatientLoop,
    }),
  ],
});
