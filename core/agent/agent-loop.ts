import type { RolloutEngine, SamplingParams } from "../engine/rollout-engine.ts";
import type { ClassEntry } from "../registry/entry.ts";
import type { ChatMessage } from "../data/tokenizer.ts";
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

export interface AgentContext {
  rollout: RolloutEngine;
  sampling: SamplingParams;
  signal: AbortSignal;
  metric(name: string, value: number): void;
}

/** Drives one conversation to its end. */
export interface AgentLoop {
  run(sample: AgentSample, ctx: AgentContext): Promise<Trajectory>;
}

declare module "../registry/entry.ts" {
  interface EntryOf {
    agent_loop: ClassEntry<AgentLoop>;
  }
}
