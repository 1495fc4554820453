import type { PolicyLossConfig } from "./policy-loss.ts";

/** How far a ratio may go below and above 1; `clip_ratio` where a side has no bound of its own. */
export function clipRange(config: PolicyLossConfig): { low: number; high: number } {
  const { clip_ratio, clip_ratio_low, clip_ratio_high } = config;
  return { low: clip_ratio_low ?? clip_ratio, high: clip_ratio_high ?? clip_ratio };
}
