// `node examples/tool-gateway/demo.mjs [--seed N --steps N --expect ACCURACY overrides…]`, after `npm run build`.
// The recipe of ../tool-calculator, its data and its model, with one thing changed: the rows run agent.ts, through the gateway.
import { measured, runDemo, tellAccuracy } from "../demo.mjs";
import { makeData } from "../tool-calculator/make-data.mjs";

const AGENT = "actor_rollout_ref.rollout.agent";

const result = await runDemo({
  name: "tool-gateway",
  recipe: "tool-calculator",
  changes: [
    `${AGENT}.agent_loop_config_path=examples/tool-gateway/agents.yaml`,
    `${AGENT}.default_agent_loop=gateway_agent`,
    "trainer.project_name=tool-gateway",
  ],
  makeData,
  steps: 60,
  expect: 0.95,
  command: "node examples/tool-gateway/demo.mjs",
  summary:
    "Trains the model of tool-calculator by an agent that is written against the openai package, through the capture gateway.",
});
const called = measured(result.validation, "called");
tellAccuracy(result, called === undefined ? "" : `, calls ${called.toFixed(3)}`);
