import type { DataProto } from "../batch/data-proto.ts";

/** How much an engine is given at a time. A split changes no result, only memory and speed. */
export type MicroBatchSize = { rows: number } | { tokens: number };

/** Padded tokens of a micro-batch when the config leaves its size open; see `microBatchSize`. */
const DEFAULT_TOKENS = 8192;

/** The size that the config asks for: rows, or tokens with `dynamic`, or by default as many rows as hold 8,192 padded tokens. */
export function microBatchSize(rows: number | null, dynamic: boolean, tokens: number): MicroBatchSize {
  if (dynamic) return { tokens };
  return rows === null ? { tokens: DEFAULT_TOKENS } : { rows };
}

/** Consecutive parts of the batch, as views. Tokens count with padding; a row longer than the bound is a part of its own. */
export function microBatches(batch: DataProto, size: MicroBatchSize): DataProto[] {
  if (batch.length === 0) return [];
  if ("rows" in size) return batch.split(size.rows);
  const width = batch.tensor("input_ids").shape[1] ?? 1;
  const rows = Math.max(1, Math.floor(size.tokens / Math.max(width, 1)));
  // Parts of equal size, so that an engine compiles one shape.
  return batch.chunk(Math.ceil(batch.length / rows));
}
