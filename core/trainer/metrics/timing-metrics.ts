/** Phases that write or read response tokens alone; the other timed phases of the list work on whole sequences. */
const PHASE_TOKENS = {
  gen: "response",
  ref: "all",
  values: "all",
  adv: "all",
  update_critic: "all",
  update_actor: "all",
} as const;

export interface TokenCounts {
  /** Σ response lengths of the step. */
  response: number;
  /** Σ prompt and response lengths. */
  all: number;
}

/** `timing_per_token_ms/<phase>` of each phase that was timed and had tokens. @param seconds by bare timer name. */
export function computeTimingMetrics(
  seconds: Readonly<Record<string, number>>,
  tokens: TokenCounts,
): Record<string, number> {
  const metrics: Record<string, number> = {};
  for (const [phase, kind] of Object.entries(PHASE_TOKENS)) {
    const time = seconds[phase];
    if (time !== undefined && tokens[kind] > 0) metrics[`timing_per_token_ms/${phase}`] = (time * 1000) / tokens[kind];
  }
  return metrics;
}

/** verl's `perf/…`: all tokens of the step, its seconds, tokens a second and device. */
export function computeThroughputMetrics(
  totalTokens: number,
  stepSeconds: number,
  devices: number,
): Record<string, number> {
  return {
    "perf/total_num_tokens": totalTokens,
    "perf/time_per_step": stepSeconds,
    "perf/throughput": totalTokens / (stepSeconds * devices),
  };
}
