import { DataProto } from "../batch/data-proto.ts";
import { NdArray } from "../batch/nd-array.ts";
import type { Dataset, DatasetRow } from "./dataset.ts";
import { padLeft } from "./padding.ts";

export interface CollateOptions {
  /** Width of the prompt matrices: `data.max_prompt_length`. */
  promptLength: number;
  padTokenId: number;
}

/**
 * The named rows of a dataset as a batch: `prompts`, `attention_mask`, `position_ids` (int32, rows × `promptLength`, left-padded)
 * and every column of the rows; a column that a row lacks is null there. The width is the limit, not the longest prompt, as in
 * verl: batches of one run always concatenate and have one shape; an engine that minds the padding trims it by `attention_mask`.
 */
export function collatePrompts(
  dataset: Dataset,
  indices: ArrayLike<number>,
  { promptLength, padTokenId }: CollateOptions,
): DataProto {
  const rows = Array.from(indices, (index) => dataset.row(index));
  const padded = padLeft(
    Array.from(indices, (index) => dataset.promptIds(index)),
    promptLength,
    padTokenId,
  );
  const shape = [rows.length, promptLength];
  return new DataProto({
    batch: {
      prompts: new NdArray("int32", shape, padded.prompts),
      attention_mask: new NdArray("int32", shape, padded.attention_mask),
      position_ids: new NdArray("int32", shape, padded.position_ids),
    },
    nonTensorBatch: columnsOf(rows),
  });
}

function columnsOf(rows: readonly DatasetRow[]): [string, unknown[]][] {
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  return [...names].map((name) => [name, rows.map((row) => row[name] ?? null)]);
}
