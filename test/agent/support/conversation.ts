import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AgentContext, AgentSample, ToolCallNote } from "../../../core/agent/agent-loop.ts";
import { AGENT_PARTS, AgentParts, schemasOf } from "../../../core/agent/agent-parts.ts";
import type { Trajectory } from "../../../core/agent/trajectory.ts";
import { loadConfig, type PpoConfig } from "../../../core/config/index.ts";
import type { Generation, RolloutEngine, SamplingParams } from "../../../core/engine/rollout-engine.ts";
import {
  CONFIG,
  createRunContainer,
  LOGGER,
  registries,
  TOKENIZER,
  type Provided,
} from "../../../core/registry/index.ts";
import { ToolAgentLoop } from "../../../plugins/agent-loop/tool-agent.ts";
import { toolParsers } from "../../../plugins/tool-parser/index.ts";
import { recordingLogger } from "../../data/helpers.ts";
import { FakeRollout } from "../fake-rollout.ts";
import { ChatTokenizer, type Marks } from "./chat-tokenizer.ts";

export function registerOnce(provided: readonly Provided[]): void {
  for (const { kind, key, entry } of provided) {
    if (!registries[kind].has(key)) registries[kind].register(key, entry as never);
  }
}

registerOnce(toolParsers);

/** A file in a folder of its own. */
export function fileOf(name: string, text: string): string {
  const path = join(mkdtempSync(join(tmpdir(), "verl-agent-")), name);
  writeFileSync(path, text);
  return path;
}

/** What the model says in its turns; `<|end|>` is added, unless the answer was cut. */
export type Script = (turn: number, prompt: string) => string | { text: string; stopReason: Generation["stopReason"] };

export interface ConversationOptions {
  say: Script;
  /** The tools file, and the interactions file. */
  tools?: string;
  interactions?: string;
  overrides?: readonly string[];
  template?: string;
  marks?: Marks;
  /** Characters that the tokenizer has no token for. */
  without?: string;
  row?: Record<string, unknown>;
  maxTokens?: number;
  rollout?: RolloutEngine;
  signal?: AbortSignal;
}

/** A tool agent with the container and the parts of a run. */
export function toolAgent({
  tools,
  interactions,
  overrides = [],
  template,
  marks,
  without,
}: Omit<ConversationOptions, "say">) {
  const config: PpoConfig = loadConfig({
    schema: "ppo",
    overrides: [
      `actor_rollout_ref.rollout.multi_turn.tool_config_path=${tools === undefined ? "null" : fileOf("tools.yaml", tools)}`,
      `actor_rollout_ref.rollout.multi_turn.interaction_config_path=${interactions === undefined ? "null" : fileOf("interactions.yaml", interactions)}`,
      ...overrides.map((override) => `actor_rollout_ref.rollout.multi_turn.${override}`),
    ],
  }).config;
  const log = recordingLogger();
  const tokenizer = new ChatTokenizer(template, marks, without);
  const container = createRunContainer({ [CONFIG]: config, [LOGGER]: log, [TOKENIZER]: tokenizer });
  const parts = new AgentParts(container, config, log);
  container.bind({ [AGENT_PARTS]: parts });
  return { loop: new ToolAgentLoop(config, tokenizer, parts, log), parts, tokenizer, log, config, container };
}

/** Runs one conversation. */
export async function converse(options: ConversationOptions) {
  const { loop, parts, tokenizer, log } = toolAgent(options);
  const { say, row = {}, maxTokens = 2000 } = options;
  const prompts: string[] = [];
  const requests: SamplingParams[] = [];
  const rollout =
    options.rollout ??
    new FakeRollout((promptIds, sampling) => {
      prompts.push(tokenizer.decode(promptIds));
      requests.push(sampling);
      const said = say(prompts.length - 1, prompts.at(-1)!);
      const { text, stopReason } =
        typeof said === "string" ? { text: `${said}<|end|>`, stopReason: "stop" as const } : said;
      const ids = tokenizer.encode(text);
      return { ids, logprobs: new Float32Array(ids.length).fill(-0.5), stopReason, weightVersion: 0 };
    });
  const messages = [{ role: "user", content: "go" }];
  const sample: AgentSample = {
    messages,
    promptIds: tokenizer.encodeChat(messages, {
      addGenerationPrompt: true,
      tools: schemasOf(await parts.toolsOf(row)),
    }),
    uid: "u",
    sampleIndex: 0,
    row,
    validate: false,
  };
  const metrics: Record<string, number> = {};
  const calls: number[] = [];
  const notes: ToolCallNote[] = [];
  const ctx: AgentContext = {
    rollout,
    sampling: { temperature: 1, top_k: -1, top_p: 1, stop_token_ids: [], seed: 1, max_tokens: maxTokens },
    signal: options.signal ?? new AbortController().signal,
    metric: (name, value) => void (metrics[name] = (metrics[name] ?? 0) + value),
    toolCalled: (seconds, note) => {
      calls.push(seconds);
      if (note !== undefined) notes.push(note);
    },
  };
  const trajectory = await loop.run(sample, ctx).finally(() => parts.close());
  return { trajectory, prompts, requests, metrics, calls, notes, log, tokenizer, text: textOf(trajectory, tokenizer) };
}

/** The response as text, what is context only in ⟦⟧. */
function textOf({ segments }: Trajectory, tokenizer: ChatTokenizer): string {
  return segments
    .map(({ ids, trainable }) => (trainable ? tokenizer.decode(ids) : `⟦${tokenizer.decode(ids)}⟧`))
    .join("");
}

export const callOf = (name: string, args: object = {}): string =>
  `<tool_call>{"name": "${name}", "arguments": ${JSON.stringify(args)}}</tool_call>`;
