import type { DataProto } from "../batch/data-proto.ts";
import { rearrangeMicroBatches } from "../batch/micro-batches.ts";

/**
 * How much an engine is given at a time: so many rows, rows of so many tokens (real ones, with balanced work), or as many equal parts
 * as keep below a number of padded tokens. A split changes no result, only memory and speed.
 */
export type MicroBatchSize = { rows: number } | { tokens: number } | { paddedTokens: number };

/**
 * The size that the config asks for.
 * @param rows null: as many as `tokens` padded tokens hold. @param dynamic cut by real tokens instead, at most `tokens`.
 */
export function microBatchSize(rows: number | null, dynamic: boolean, tokens: number): MicroBatchSize {
  if (dynamic) return { tokens };
  return rows === null ? { paddedTokens: tokens } : { rows };
}

export interface MicroBatchCut {
  batches: DataProto[];
  /** Brings concatenated results back in the batch's order; absent where they are in it already. */
  restore?: Int32Array;
}

export function cutMicroBatches(batch: DataProto, size: MicroBatchSize): MicroBatchCut {
  if (batch.length === 0) return { batches: [] };
  if ("tokens" in size) return rearrangeMicroBatches(batch, size.tokens);
  if ("rows" in size) return { batches: batch.split(size.rows) };
  const width = batch.tensor("input_ids").shape[1] ?? 1;
  const rows = Math.max(1, Math.floor(size.paddedTokens / Math.max(width, 1)));
  // Parts of equal size, so that an engine compiles one shape.
  return { batches: batch.chunk(Math.ceil(batch.length / rows)) };
}
