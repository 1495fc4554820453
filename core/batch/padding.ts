import { NdArray } from "./nd-array.ts";
import { gatherRows, type BatchParts } from "./parts.ts";
import { cyclicIds } from "./row-ids.ts";
import { TensorDict } from "./tensor-dict.ts";

/**
 * Reserved bool field, one flag a row: 1 on rows that `padToDivisor` added; absent where no row is padding. It travels with its
 * rows through every method, `select` included. Padding rows also have a zero `response_mask`, so whatever reduces under that mask
 * leaves them out by itself; what counts rows asks `isPadRow` or `validRows`.
 */
export const IS_PAD = "is_pad";

/** Masks that are 0 on padding rows, so that no loss and no statistic sees them. */
const LOSS_MASKS = new Set(["response_mask", "loss_mask"]);

/** The same rows with their flags written out. */
export function withFlags({ batch, nonTensorBatch }: BatchParts, rows: number): BatchParts {
  if (batch.has(IS_PAD)) return { batch, nonTensorBatch };
  return { batch: new TensorDict([...batch, [IS_PAD, NdArray.zeros("bool", [rows])]]), nonTensorBatch };
}

/** Appends `missing` copies of the first rows, cyclically, flagged and masked. */
export function padRows(parts: BatchParts, rows: number, missing: number): BatchParts {
  const padded = gatherRows(withFlags(parts, rows), cyclicIds(rows, rows + missing));
  for (const [key, array] of padded.batch) {
    // These arrays were just gathered; nobody else sees them yet.
    const tail = array.slice(rows).data;
    if (key === IS_PAD) (tail as Uint8Array).fill(1);
    else if (LOSS_MASKS.has(key)) new Uint8Array(tail.buffer, tail.byteOffset, tail.byteLength).fill(0);
  }
  return padded;
}

/** A row that folding made of several is padding when all of them are. */
export function isPadRow(batch: TensorDict, row: number): boolean {
  return (
    batch.has(IS_PAD) &&
    batch
      .get(IS_PAD, "bool")
      .row(row)
      .data.every((flag) => flag === 1)
  );
}
