import type { Generation } from "../engine/rollout-engine.ts";
import { generationFault } from "./generation-fault.ts";

/** A run of tokens that came from one side. */
export interface Segment {
  ids: Int32Array;
  /** One a token; present exactly when the model sampled the segment. */
  logprobs?: Float32Array;
  /** True for tokens that the loss trains on. */
  trainable: boolean;
}

/** What came of one sample: tokens are the truth, text is a view of them. */
export interface Trajectory {
  promptIds: Int32Array;
  /** Everything after the prompt, in order. */
  segments: Segment[];
  stopReason: "stop" | "length" | "abort" | "limit" | "error";
  numTurns: number;
  /** Set by loops that score themselves. */
  rewardScore?: number;
  extraFields: Record<string, unknown>;
  /** Of the oldest weights that sampled any of it. */
  weightVersion: number;
}

/** What a loop knows only at its end. */
export type TrajectoryEnd = Pick<Trajectory, "stopReason" | "numTurns"> &
  Partial<Pick<Trajectory, "rewardScore" | "extraFields">>;

/**
 * Builds a trajectory turn by turn. Ids, log-probs and mask have the same length by construction: each token comes in with what
 * belongs to it, and nothing is ever encoded anew.
 */
export class TrajectoryRecorder {
  private segments: Segment[] = [];
  private tokens: number;
  private weightVersion = Infinity;

  constructor(private promptIds: Int32Array) {
    this.tokens = promptIds.length;
  }

  /** Tokens so far, the prompt included. */
  get length(): number {
    return this.tokens;
  }

  /** Tokens after the prompt. */
  get responseLength(): number {
    return this.tokens - this.promptIds.length;
  }

  /** Appends what the model sampled; it is trained on. @throws VerlError VERL_AGENT_TRAJECTORY */
  sampled({ ids, logprobs, weightVersion }: Generation): void {
    const fault = generationFault({ ids, logprobs });
    if (fault !== undefined) throw fault;
    this.weightVersion = Math.min(this.weightVersion, weightVersion);
    this.append({ ids, logprobs, trainable: true });
  }

  /** Appends tokens that came from outside (a tool, a user, the template); they are context only. */
  observed(ids: Int32Array): void {
    this.append({ ids, trainable: false });
  }

  /**
   * Begins anew from `ids`, a history that differs from the one recorded: all of it is context, and what was sampled before is no longer
   * part of the trajectory. As many of them as the prompt had are the prompt now: a template can rewrite that too.
   */
  fork(ids: Int32Array): void {
    this.promptIds = ids.subarray(0, this.promptIds.length);
    this.segments = [];
    this.tokens = this.promptIds.length;
    this.weightVersion = Infinity;
    this.observed(ids.subarray(this.promptIds.length));
  }

  /** All tokens in order, as the prompt of the next generation. */
  ids(): Int32Array {
    const ids = new Int32Array(this.tokens);
    ids.set(this.promptIds);
    let at = this.promptIds.length;
    for (const segment of this.segments) {
      ids.set(segment.ids, at);
      at += segment.ids.length;
    }
    return ids;
  }

  end({ extraFields = {}, ...end }: TrajectoryEnd): Trajectory {
    const weightVersion = Number.isFinite(this.weightVersion) ? this.weightVersion : 0;
    return { promptIds: this.promptIds, segments: this.segments, weightVersion, extraFields, ...end };
  }

  private append(segment: Segment): void {
    if (segment.ids.length === 0) return;
    this.segments.push(segment);
    this.tokens += segment.ids.length;
  }
}
