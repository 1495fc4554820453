import { NdArray } from "../../batch/nd-array.ts";
import type { RolloutCorrectionConfig } from "./config.ts";
import { checkImportanceOptions, importanceWeights } from "./importance-weights.ts";
import { offPolicyMetrics } from "./off-policy-metrics.ts";
import { applyRules } from "./rejection.ts";
import { parseRejectionRules } from "./rejection-rules.ts";
import { unmaskedTokens, type RolloutCorrectionInput, type UnmaskedTokens } from "./unmasked-tokens.ts";

export interface RolloutCorrection {
  /** rows × response length, 0 where `response_mask` was 0; absent when `rollout_is` is null. */
  rollout_is_weights?: NdArray<"float32">;
  /** The given mask less the rejected tokens; the very same array when `rollout_rs` is null. */
  response_mask: NdArray<"float32" | "int32">;
  /** 1 for rows that lost all of their tokens. Such a row takes no part in its group's statistics. */
  rejected: Uint8Array;
  /** `rollout_corr/…`; empty for a batch without unmasked tokens. */
  metrics: Record<string, number>;
}

/**
 * Corrects for a sampler whose policy is not quite the trained one: importance weights, rejection, and metrics of the gap. With neither
 * switched on it only measures. Nothing given is written.
 *
 * Differs from verl in that rows without tokens take no part in any statistic, and that a batch of only such rows is no error.
 * @param path of the config section, for messages.
 * @throws VERL_ALGORITHM_CONFIG, VERL_ALGORITHM_SHAPE, VERL_ALGORITHM_LOG_PROB
 */
export function correctRollout(
  input: RolloutCorrectionInput,
  config: RolloutCorrectionConfig,
  path = "algorithm.rollout_correction",
): RolloutCorrection {
  checkImportanceOptions(config, path);
  const rules = parseRejectionRules(config, path);
  const tokens = unmaskedTokens(input);
  const { response_mask } = input;
  const { rollout_is } = config;
  const result: RolloutCorrection = { response_mask, rejected: new Uint8Array(response_mask.rows), metrics: {} };
  if (rollout_is) result.rollout_is_weights = NdArray.zeros("float32", response_mask.shape);
  if (tokens.at.length === 0) return result;

  const metrics: Record<string, number> = {};
  if (rollout_is) {
    const importance = importanceWeights(tokens, rollout_is, config);
    scatter(importance.weights, tokens.at, result.rollout_is_weights!.data);
    Object.assign(metrics, importance.metrics);
  }
  if (rules.length > 0) {
    const { kept, metrics: rejection } = applyRules(tokens, rules);
    result.response_mask = response_mask.copy();
    for (let i = 0; i < kept.length; i++) if (kept[i] === 0) result.response_mask.data[tokens.at[i]!] = 0;
    result.rejected = rejectedRows(kept, tokens, response_mask);
    const rejectedRowCount = result.rejected.reduce((sum, flag) => sum + flag, 0);
    Object.assign(metrics, rejection, { rejected_row_fraction: rejectedRowCount / (tokens.starts.length - 1) });
  }
  Object.assign(metrics, offPolicyMetrics(input, tokens));
  result.metrics = Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`rollout_corr/${name}`, value]));
  return result;
}

function scatter(values: Float64Array, at: Int32Array, into: Float32Array): void {
  for (let i = 0; i < values.length; i++) into[at[i]!] = values[i]!;
}

function rejectedRows(kept: Uint8Array, { at, starts }: UnmaskedTokens, mask: NdArray): Uint8Array {
  const rejected = new Uint8Array(mask.rows);
  for (let row = 0; row + 1 < starts.length; row++) {
    const flags = kept.subarray(starts[row], starts[row + 1]);
    if (!flags.includes(1)) rejected[Math.floor(at[starts[row]!]! / mask.rowSize)] = 1;
  }
  return rejected;
}
