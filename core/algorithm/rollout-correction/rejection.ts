import { MAX_LOG_RATIO } from "./importance-weights.ts";
import type { Divergence, RejectionRule } from "./rejection-rules.ts";
import {
  boundedMoments,
  clamp,
  max,
  mean,
  min,
  overTokens,
  rowMaxima,
  rowMeans,
  rowSums,
  shareAbove,
  shareBelow,
  std,
} from "./statistics.ts";
import type { UnmaskedTokens } from "./unmasked-tokens.ts";

export interface Rejection {
  /** 1 for tokens that pass every rule. */
  kept: Uint8Array;
  metrics: Record<string, number>;
}

const DIVERGENCE: Readonly<Record<Divergence, (logRatio: number) => number>> = {
  k1: (logRatio) => -logRatio,
  k2: (logRatio) => 0.5 * logRatio ** 2,
  // Never negative, where rounding might make it so.
  k3: (logRatio) => Math.max(Math.expm1(logRatio) - logRatio, 0),
};

const OF_ROW = { seq_sum: rowSums, seq_mean: rowMeans, seq_max: rowMaxima } as const;

/** Which tokens pass all rules; a rule on the answer keeps or rejects all of its tokens. Bounds are inclusive. */
export function applyRules({ logRatio, starts }: UnmaskedTokens, rules: readonly RejectionRule[]): Rejection {
  const kept = new Uint8Array(logRatio.length).fill(1);
  const metrics: Record<string, number> = {};
  for (const rule of rules) {
    const tokens = divergences(logRatio, DIVERGENCE[rule.divergence]);
    const ofRow = rule.level === "token" ? undefined : OF_ROW[rule.level](tokens, starts);
    const judged = ofRow ? overTokens(ofRow, starts) : tokens;
    const passed = new Uint8Array(judged.length);
    for (let i = 0; i < judged.length; i++) {
      if (judged[i]! < rule.lower || judged[i]! > rule.upper) kept[i] = 0;
      else passed[i] = 1;
    }
    const prefix = `rollout_rs_${rule.name}`;
    const own = { ...describe(rule, judged, ofRow ?? rowMeans(tokens, starts)), ...rejectedShares(passed, starts) };
    for (const [name, value] of Object.entries(own)) metrics[`${prefix}_${name}`] = value;
  }
  for (const [name, value] of Object.entries(rejectedShares(kept, starts))) metrics[`rollout_rs_${name}`] = value;
  return { kept, metrics };
}

function divergences(logRatio: Float64Array, divergence: (logRatio: number) => number): Float64Array {
  const values = new Float64Array(logRatio.length);
  for (let i = 0; i < values.length; i++) {
    values[i] = divergence(clamp(logRatio[i]!, -MAX_LOG_RATIO, MAX_LOG_RATIO));
  }
  return values;
}

/** @param judged the rule's statistic at each token. @param rows the same of each row, or the row's mean over its tokens. */
function describe({ level, lower, upper }: RejectionRule, judged: Float64Array, rows: Float64Array) {
  // Counted over what the rule decides on.
  const decided = level === "token" ? judged : rows;
  return {
    mean: mean(judged),
    max: max(decided),
    min: min(decided),
    fraction_high: shareAbove(decided, upper),
    fraction_low: shareBelow(decided, lower),
    std: Math.sqrt(boundedMoments(judged, lower, upper).variance),
    seq_mean: mean(rows),
    seq_std: std(rows),
    seq_max: max(rows),
    seq_min: min(rows),
    seq_max_deviation: max(rows.map(Math.abs)),
    seq_fraction_high: shareAbove(rows, upper),
    // k2 and k3 have no lower bound, and no such metric.
    ...(lower > -Infinity && { seq_fraction_low: shareBelow(rows, lower) }),
  };
}

/** Share of tokens, and of rows that lost at least one. */
function rejectedShares(
  kept: Uint8Array,
  starts: Int32Array,
): { masked_fraction: number; seq_masked_fraction: number } {
  const rows = starts.length - 1;
  let [tokens, touched] = [0, 0];
  for (let row = 0; row < rows; row++) {
    let own = 0;
    for (let i = starts[row]!; i < starts[row + 1]!; i++) own += 1 - kept[i]!;
    tokens += own;
    if (own > 0) touched++;
  }
  return { masked_fraction: tokens / kept.length, seq_masked_fraction: touched / rows };
}
