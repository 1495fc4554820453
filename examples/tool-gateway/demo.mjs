// `node examples/tool-gateway/demo.mjs [--seed N --steps N --expect ACCURACY overrides…]`, after `npm run build`.
// The recipe of ../tool-calculator, its data and its model, with one thing changed: the rows run agent.ts, through the gateway.
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const AGENT = "actor_rollout_ref.rollout.agent";

const { status } = spawnSync(
  process.execPath,
  [
    join(import.meta.dirname, "../tool-calculator/demo.mjs"),
    ...process.argv.slice(2),
    `${AGENT}.agent_loop_config_path=examples/tool-gateway/agents.yaml`,
    `${AGENT}.default_agent_loop=gateway_agent`,
    "trainer.project_name=tool-gateway",
  ],
  { stdio: "inherit" },
);
process.exitCode = status ?? 1;
