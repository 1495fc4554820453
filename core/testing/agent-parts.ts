import fc from "fast-check";
import { AGENT_PARTS, AgentParts, functionTool, type OfferedTool } from "../agent/index.ts";
import { readConfig } from "../config/load.ts";
import { createLogger, type RunContainer, type TokenValues } from "../registry/index.ts";
import { testContainer } from "./test-container.ts";

/** The tool that a loop is offered in the kit. */
const Echo = functionTool({
  name: "echo",
  description: "Says it again.",
  parameters: { type: "object", properties: { text: { type: "string", description: "What to say." } } },
  execute: ({ text = "" }) => text,
});

/** Answers that call it, in the default `multi_turn.format`; some with arguments that do not fit. */
export const calls: fc.Arbitrary<string> = fc
  .constantFrom("", "a", "two words", 1)
  .map((text) => `<tool_call>{"name": "echo", "arguments": ${JSON.stringify({ text })}}</tool_call>`);

/** What a run's loops share, with one tool in place of a tools file. */
class KitParts extends AgentParts {
  override tools(): Promise<ReadonlyMap<string, OfferedTool>> {
    const tool = new Echo();
    const faults = ({ text }: Readonly<Record<string, unknown>>): string | undefined =>
      text === undefined || typeof text === "string" ? undefined : "text must be string";
    return Promise.resolve(new Map([["echo", { tool, schema: tool.schema, faults }]]));
  }
}

/** A container as the loops of a run have it. */
export function agentContainer(values: TokenValues): RunContainer {
  const container = testContainer(values);
  if (AGENT_PARTS in values) return container;
  const { config } = readConfig({ schema: "ppo" }).loaded;
  container.bind({ [AGENT_PARTS]: new KitParts(container, config, createLogger({ level: "silent" })) });
  return container;
}
