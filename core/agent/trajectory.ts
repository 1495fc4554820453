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
  weightVersion: number;
}
