import type { RolloutEngine, SamplingParams } from "../engine/rollout-engine.ts";
import type { ClassEntry } from "../registry/entry.ts";
import { classRegistrar, type ClassRegistrar } from "../registry/register.ts";
import type { ChatMessage } from "../data/tokenizer.ts";
import type { AgentParts } from "./agent-parts.ts";
import type { RowFields } from "./row-fields.ts";
import type { Trajectory } from "./trajectory.ts";

/** One dataset row of which an answer is wanted. */
export interface AgentSample {
  /** The conversation so far. */
  messages: readonly ChatMessage[];
  /** The same, templated and tokenised with the generation prompt. */
  promptIds: Int32Array;
  uid: string;
  /** Index of this answer among the prompt's `rollout.n`. */
  sampleIndex: number;
  /** Every non-tensor column of the row. */
  row: Readonly<Record<string, unknown>>;
  validate: boolean;
}

/** A tool call, as traces tell of it. */
export interface ToolCallNote {
  /** Of the tool that the model named. */
  name: string;
  arguments: Readonly<Record<string, unknown>>;
  /** `invalid`: nothing was run, because there is no such tool or the arguments do not fit. */
  outcome: "ok" | "error" | "timeout" | "invalid";
  /** What it failed by. */
  error?: string;
}

/** What a loop works with while it runs; one object a sample and attempt. */
export interface AgentContext {
  rollout: RolloutEngine;
  /** `max_tokens` is what the whole response may have; loops of several generations share it out. */
  sampling: SamplingParams;
  /** Aborts at the sample's deadline and when the run ends. */
  signal: AbortSignal;
  metric(name: string, value: number): void;
  /**
   * Notes that a tool call took so many seconds, for `agent_loop/tool_calls` and `agent_loop/tool_latency`, and in traces.
   * @param call what was called; an invalid call is in traces alone.
   */
  toolCalled(seconds: number, call?: ToolCallNote): void;
}

/**
 * Drives one conversation to its end. One object serves all samples at once; what belongs to one sample lives in its `run`.
 *
 *     @AgentLoop.register("my_loop", { description: "…" })
 *     class MyLoop extends AgentLoop { … }
 */
export abstract class AgentLoop {
  static readonly register: ClassRegistrar<"agent_loop"> = classRegistrar("agent_loop");

  /**
   * Refuses a row that the loop cannot run. It is asked of each row before the run begins, and without an object of the class; where there
   * is none, any row will do.
   * @param parts tells what the run has: `requireInteraction`, `toolsOf`. @throws VerlError, to which the row's number is added
   */
  static checkRow?(row: RowFields, parts: AgentParts): void | Promise<void>;

  /** Loads what every sample needs. Called once, before the first sample; what it throws ends the run, and nothing is tried again. */
  prepare?(): Promise<void>;

  abstract run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory>;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    agent_loop: ClassEntry<AgentLoop>;
  }
}
