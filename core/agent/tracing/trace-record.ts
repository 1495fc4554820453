import type { ToolCallNote } from "../agent-loop.ts";

/** A generation or a tool call of a traced answer. */
export interface TraceSpan {
  readonly name: "generate" | "tool";
  /** Milliseconds after the answer's start. */
  readonly start: number;
  readonly ms: number;
  readonly prompt_tokens?: number;
  readonly response_tokens?: number;
  readonly stop_reason?: string;
  readonly weight_version?: number;
  /** What the model read and wrote, with `token2text`. */
  readonly prompt?: string;
  readonly response?: string;
  /** Of a tool call: the tool's name, the characters of the arguments as JSON, and what came of it. */
  readonly tool?: string;
  readonly argument_chars?: number;
  readonly outcome?: ToolCallNote["outcome"];
  readonly error?: string;
}

/** Which answer a trace is of. */
export interface TracedSample {
  readonly step: number;
  readonly split: "train" | "val";
  readonly uid: string;
  /** Of the answers to this prompt. */
  readonly sample_index: number;
  /** 0, then one more each time that the answer was tried again. */
  readonly attempt: number;
  /** Key of the agent loop. */
  readonly agent: string;
}

/** One attempt at an answer, and what it took. */
export interface TraceRecord extends TracedSample {
  /** ISO 8601. */
  readonly started: string;
  readonly ms: number;
  readonly stop_reason?: string;
  readonly num_turns?: number;
  /** What the attempt failed by. */
  readonly error?: string;
  readonly spans: readonly TraceSpan[];
}

/** A trace that is being written. */
export interface OpenTrace {
  /** Does the answer's work, inside whatever the backend wants around it; it is called at once, or goes on without. */
  run<T>(work: () => Promise<T>): Promise<T>;
  end(record: TraceRecord): void;
}

/** Where traces go. What it throws is a warning, once a run; no answer is lost by it. */
export interface TraceSink {
  begin(sample: TracedSample): OpenTrace;
}
