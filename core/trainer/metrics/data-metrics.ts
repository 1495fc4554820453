import type { DataProto } from "../../batch/data-proto.ts";

/**
 * verl's metrics of a step's data, from the fields `attention_mask`, `response_mask`, `token_level_scores`, `token_level_rewards`, `advantages`,
 * `returns` and, where they exist, `values`, `unscored` (1: the row counts in no score, advantage, return or value), `__num_turns__` and `tool_call_counts`.
 * Rows with an empty response are aborted: they count in `response/aborted_ratio` and in no score. Padding rows count nowhere.
 * A group of metrics without a single value is left out.
 */
export function computeDataMetrics(batch: DataProto): Record<string, number> {
  const mask = batch.tensor("response_mask");
  const attention = batch.tensor("attention_mask");
  const width = mask.shape[1]!;
  const total = attention.shape[1]!;
  const rows = [...batch.validRows()];
  const lengths = rows.map((row) => sum(attention.data, (row + 1) * total - width, (row + 1) * total));
  const prompts = rows.map((row) => sum(attention.data, row * total, (row + 1) * total - width));
  const finished = lengths.filter((length) => length > 0);

  const unscored = batch.batch.has("unscored") ? batch.tensor("unscored").data : undefined;
  const scored = rows.filter((row, i) => lengths[i]! > 0 && !unscored?.[row]);
  const rowSums = (field: string) => {
    const { data } = batch.tensor(field, "float32");
    return scored.map((row) => sum(data, row * width, (row + 1) * width));
  };
  const tokens = (field: string) => selected(batch.tensor(field, "float32").data, mask.data, scored, width);
  const returns = tokens("returns");
  return {
    ...meanMaxMin("critic/score", rowSums("token_level_scores")),
    ...meanMaxMin("critic/rewards", rowSums("token_level_rewards")),
    ...meanMaxMin("critic/advantages", tokens("advantages")),
    ...meanMaxMin("critic/returns", returns),
    ...(batch.batch.has("values") ? valueMetrics(returns, tokens("values")) : {}),
    ...lengthMetrics("response_length", lengths, width),
    ...lengthMetrics("response_length_non_aborted", finished, width),
    ...(rows.length > 0 ? { "response/aborted_ratio": 1 - finished.length / rows.length } : {}),
    ...lengthMetrics("prompt_length", prompts, total - width),
    ...meanMaxMin("num_turns", perRow(batch, "__num_turns__", rows)),
    ...meanMaxMin("tool_call_counts", perRow(batch, "tool_call_counts", rows)),
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

/** One number a row, of a column or of a field with one value a row; nothing where the batch has neither. */
function perRow(batch: DataProto, key: string, rows: readonly number[]): number[] {
  const values = batch.nonTensorBatch.get(key) ?? (batch.batch.has(key) ? batch.tensor(key).data : undefined);
  return values ? rows.map((row) => Number(values[row])) : [];
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
