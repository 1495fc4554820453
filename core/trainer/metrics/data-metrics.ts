import type { NdArray } from "../../batch/nd-array.ts";

/** Batch fields that the data metrics read; matrices are rows × response length unless said otherwise. */
export interface DataMetricsInput {
  /** rows × (prompt length + response length). */
  attention_mask: NdArray;
  /** 1 where the model wrote the token. */
  response_mask: NdArray;
  token_level_scores: NdArray<"float32">;
  token_level_rewards: NdArray<"float32">;
  advantages: NdArray<"float32">;
  returns: NdArray<"float32">;
  /** Present when a critic runs. */
  values?: NdArray<"float32">;
  /** 1 for padding rows, which count nowhere. */
  padding?: Uint8Array;
  /** 1 for rows without a score, which count in no score. */
  unscored?: Uint8Array;
  /** One a row. */
  num_turns?: ArrayLike<number>;
  tool_call_counts?: ArrayLike<number>;
}

/**
 * verl's metrics of a step's data. Rows with an empty response are aborted: they count in `response/aborted_ratio` and in no score.
 * A group of metrics without a single value is left out.
 */
export function computeDataMetrics(input: DataMetricsInput): Record<string, number> {
  const [rows, width] = input.response_mask.shape as [number, number];
  const promptWidth = input.attention_mask.shape[1]! - width;
  const scores: number[] = [];
  const rewards: number[] = [];
  const promptLengths: number[] = [];
  const responseLengths: number[] = [];
  const live: number[] = [];
  for (let row = 0; row < rows; row++) {
    if (input.padding?.[row]) continue;
    live.push(row);
    const start = row * (promptWidth + width);
    const responseLength = sum(input.attention_mask.data, start + promptWidth, start + promptWidth + width);
    promptLengths.push(sum(input.attention_mask.data, start, start + promptWidth));
    responseLengths.push(responseLength);
    if (responseLength === 0 || input.unscored?.[row]) continue;
    scores.push(sum(input.token_level_scores.data, row * width, (row + 1) * width));
    rewards.push(sum(input.token_level_rewards.data, row * width, (row + 1) * width));
  }
  const finished = responseLengths.filter((length) => length > 0);
  const pick = (field: NdArray<"float32">) => selected(field.data, input.response_mask.data, live, width);
  const returns = pick(input.returns);
  return {
    ...meanMaxMin("critic/score", scores),
    ...meanMaxMin("critic/rewards", rewards),
    ...meanMaxMin("critic/advantages", pick(input.advantages)),
    ...meanMaxMin("critic/returns", returns),
    ...(input.values ? valueMetrics(returns, pick(input.values)) : {}),
    ...lengthMetrics("response_length", responseLengths, width),
    ...lengthMetrics("response_length_non_aborted", finished, width),
    ...(live.length > 0 ? { "response/aborted_ratio": 1 - finished.length / live.length } : {}),
    ...lengthMetrics("prompt_length", promptLengths, promptWidth),
    ...meanMaxMin("num_turns", perRow(input.num_turns, live)),
    ...meanMaxMin("tool_call_counts", perRow(input.tool_call_counts, live)),
  };
}

function valueMetrics(returns: ArrayLike<number>, values: ArrayLike<number>): Record<string, number> {
  const errors = Float64Array.from(returns, (value, i) => value - values[i]!);
  const metrics = meanMaxMin("critic/values", values);
  if (returns.length > 1) metrics["critic/vf_explained_var"] = 1 - variance(errors) / (variance(returns) + 1e-5);
  return metrics;
}

function lengthMetrics(prefix: string, lengths: readonly number[], width: number): Record<string, number> {
  if (lengths.length === 0) return {};
  const clipped = lengths.filter((length) => length === width).length;
  return { ...meanMaxMin(prefix, lengths), [`${prefix}/clip_ratio`]: clipped / lengths.length };
}

function meanMaxMin(prefix: string, values: ArrayLike<number>): Record<string, number> {
  if (values.length === 0) return {};
  let total = 0;
  let max = -Infinity;
  let min = Infinity;
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    total += value;
    // Written so that a NaN shows in all three.
    if (!(value <= max)) max = value;
    if (!(value >= min)) min = value;
  }
  return { [`${prefix}/mean`]: total / values.length, [`${prefix}/max`]: max, [`${prefix}/min`]: min };
}

/** Sample variance (n − 1). */
function variance(values: ArrayLike<number>): number {
  const mean = sum(values, 0, values.length) / values.length;
  let squares = 0;
  for (let i = 0; i < values.length; i++) squares += (values[i]! - mean) ** 2;
  return squares / (values.length - 1);
}

function perRow(values: ArrayLike<number> | undefined, rows: readonly number[]): number[] {
  return values ? rows.map((row) => values[row]!) : [];
}

function selected(data: Float32Array, mask: ArrayLike<unknown>, rows: readonly number[], width: number): Float64Array {
  const result = new Float64Array(rows.length * width);
  let count = 0;
  for (const row of rows) {
    for (let i = row * width; i < (row + 1) * width; i++) if (Number(mask[i]) !== 0) result[count++] = data[i]!;
  }
  return result.subarray(0, count);
}

function sum(data: ArrayLike<number | bigint>, begin: number, end: number): number {
  let total = 0;
  for (let i = begin; i < end; i++) total += Number(data[i]);
  return total;
}
