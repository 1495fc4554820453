import type { RowIds } from "./nd-array.ts";
import { requirePositive } from "./row-ids.ts";
import type { TensorDict } from "./tensor-dict.ts";
import { VerlError } from "../errors/verl-error.ts";

/** One value a row, of any kind: strings, numbers, objects, ragged arrays. */
export type Column = readonly unknown[];

/** The two halves of a batch that have rows. */
export interface BatchParts {
  readonly batch: TensorDict;
  readonly nonTensorBatch: ReadonlyMap<string, Column>;
}

export function mapColumns(
  { nonTensorBatch }: BatchParts,
  change: (column: Column, key: string) => Column,
): Map<string, Column> {
  return new Map(Array.from(nonTensorBatch, ([key, column]) => [key, change(column, key)]));
}

/** Copies of the named rows. */
export function gatherRows(parts: BatchParts, ids: RowIds): BatchParts {
  return {
    batch: parts.batch.gather(ids),
    nonTensorBatch: mapColumns(parts, (column) => Array.from(ids, (row) => column[row])),
  };
}

/** Views of rows [start, end). */
export function sliceRows(parts: BatchParts, start: number, end: number): BatchParts {
  return {
    batch: parts.batch.slice(start, end),
    nonTensorBatch: mapColumns(parts, (column) => column.slice(start, end)),
  };
}

export function hasFields({ batch, nonTensorBatch }: BatchParts): boolean {
  return batch.size > 0 || nonTensorBatch.size > 0;
}

export function allKeys({ batch, nonTensorBatch }: BatchParts): string[] {
  return [...batch.keys(), ...nonTensorBatch.keys()];
}

/** @throws VERL_BATCH_SPLIT unless `divisor` is a positive integer that divides `rows`. */
export function requireDivides(divisor: number, rows: number, parts: string): void {
  requirePositive(`The number for ${parts}`, divisor);
  if (rows % divisor === 0) return;
  const below = rows - (rows % divisor);
  throw new VerlError(
    "VERL_BATCH_SPLIT",
    `${rows} rows do not make ${parts}; the nearest counts that do are ${below} and ${below + divisor}.`,
    { hint: `Pad with padToDivisor(${divisor}), or allow uneven parts.` },
  );
}
