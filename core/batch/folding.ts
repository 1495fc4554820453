import { VerlError } from "../errors/verl-error.ts";
import { mapColumns, requireDivides, type BatchParts } from "./parts.ts";
import { repeatedIds } from "./row-ids.ts";

/** [rows, …] → [folded, rows / folded, …]; column values become lists. */
export function foldRows(parts: BatchParts, rows: number, folded: number): BatchParts {
  if (rows > 0 || folded !== 0) requireDivides(folded, rows, `${folded} folded rows`);
  const inner = folded === 0 ? 0 : rows / folded;
  return {
    batch: parts.batch.map((array) => array.reshape([folded, inner, ...array.rowShape])),
    nonTensorBatch: mapColumns(parts, (column) =>
      Array.from({ length: folded }, (_, i) => column.slice(i * inner, (i + 1) * inner)),
    ),
  };
}

/** The first `axes` axes become one; column values are lists, nested `axes` − 1 deep. */
export function unfoldRows(parts: BatchParts, axes: number): BatchParts {
  return {
    batch: parts.batch.map((array, key) => {
      if (array.shape.length < axes) {
        throw new VerlError(
          "VERL_BATCH_SHAPE",
          `Field "${key}" has ${array.shape.length} axes, too few to unfold ${axes}.`,
        );
      }
      const rows = array.shape.slice(0, axes).reduce((product, extent) => product * extent, 1);
      return array.reshape([rows, ...array.shape.slice(axes)]);
    }),
    nonTensorBatch: mapColumns(parts, (column) => column.flat(axes - 1)),
  };
}

/** Named fields: [rows, chunks × k, …] → [rows × chunks, k, …]; everything else repeats each row `chunks` times. */
export function unfoldColumns(
  parts: BatchParts,
  rows: number,
  chunks: number,
  splitKeys: ReadonlySet<string>,
): BatchParts {
  const ids = repeatedIds(rows, chunks, true);
  return {
    batch: parts.batch.map((array, key) => {
      if (!splitKeys.has(key)) return array.gather(ids);
      const [, width = 0, ...rest] = array.shape;
      requireDivides(chunks, width, `${chunks} column chunks of field "${key}"`);
      return array.reshape([rows * chunks, width / chunks, ...rest]);
    }),
    nonTensorBatch: mapColumns(parts, (column) => Array.from(ids, (row) => column[row])),
  };
}
