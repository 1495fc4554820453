import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, it } from "@jest/globals";
import { AgentParts } from "../../core/agent/agent-parts.ts";
import { loadConfig } from "../../core/config/index.ts";
import { createRunContainer, registries } from "../../core/registry/index.ts";
import { agentLoops } from "../../plugins/agent-loop/index.ts";
import { SingleTurnAgentLoop } from "../../plugins/agent-loop/single-turn.ts";
import { errorOf, recordingLogger } from "../data/helpers.ts";

beforeAll(() => {
  for (const { key, entry } of agentLoops) registries.agent_loop.register(key, entry);
});

it("finds a row's agent_name in the file and in the registry, and suggests the nearest of both", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "verl-agents-")), "agents.yaml");
  writeFileSync(file, "agent_loops:\n  - {name: calc_agent, _target_: single_turn_agent}\n");
  const overrides = [`actor_rollout_ref.rollout.agent.agent_loop_config_path=${file}`];
  const config = loadConfig({ schema: "ppo", overrides, env: {} }).config;
  const parts = new AgentParts(createRunContainer({}), config, recordingLogger());
  expect(parts.createLoop("calc_agent")).toBeInstanceOf(SingleTurnAgentLoop);
  expect(parts.createLoop("single_turn_agent")).toBeInstanceOf(SingleTurnAgentLoop);
  const hintFor = async (name: string) => ((await errorOf(() => parts.createLoop(name))) as { hint: string }).hint;
  expect(await hintFor("cacl_agent")).toContain(`Did you mean "calc_agent"`);
  expect(await hintFor("single_trun_agent")).toContain('Did you mean "single_turn_agent"?');
});
