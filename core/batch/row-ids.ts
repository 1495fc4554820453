import { VerlError } from "../errors/verl-error.ts";
import { isNdArray, type NdArray, type RowIds } from "./nd-array.ts";

/** Row numbers, or a mask with one boolean a row. */
export type RowSelection = RowIds | readonly boolean[] | NdArray<"bool">;

/** What shuffles rows: any seeded stream, for example an `Rng`. */
export interface Shuffler {
  shuffle<T extends { length: number; [index: number]: unknown }>(items: T): T;
}

/** Row numbers of a selection, checked to lie in [0, length). @throws VERL_BATCH_INDEX, VERL_BATCH_SHAPE */
export function resolveIds(rows: RowSelection, length: number): Int32Array {
  const mask = isNdArray(rows)
    ? Array.from(rows.data, Boolean)
    : typeof rows[0] === "boolean"
      ? (rows as boolean[])
      : undefined;
  if (mask) {
    if (mask.length !== length) {
      throw new VerlError("VERL_BATCH_SHAPE", `A mask over ${length} rows has ${mask.length} entries.`);
    }
    return Int32Array.from(mask.keys()).filter((row) => mask[row]);
  }
  return Int32Array.from(rows as RowIds, (row) => {
    if (!Number.isInteger(row) || row < 0 || row >= length) {
      throw new VerlError("VERL_BATCH_INDEX", `Row ${row} does not exist: there are ${length} rows, numbered from 0.`);
    }
    return row;
  });
}

/** Row numbers that name each row once. @throws VERL_BATCH_INDEX */
export function resolveOrder(order: RowIds, length: number): Int32Array {
  const ids = resolveIds(order, length);
  const distinct = new Set(ids).size;
  if (ids.length !== length || distinct !== length) {
    throw new VerlError(
      "VERL_BATCH_INDEX",
      `An order of ${length} rows names each row once; this one has ${ids.length} entries, ${distinct} of them different.`,
      { hint: "Use index() to drop or repeat rows." },
    );
  }
  return ids;
}

/** 0, 1, … and again from 0 after `length`, `count` numbers in all. */
export function cyclicIds(length: number, count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => i % length);
}

export function steppedIds(start: number, end: number, step: number): Int32Array {
  requirePositive("Step of a slice", step);
  return Int32Array.from({ length: Math.ceil((end - start) / step) }, (_, i) => start + i * step);
}

/** a, a, b, b when interleaved, else a, b, a, b. */
export function repeatedIds(length: number, times: number, interleave: boolean): Int32Array {
  if (!Number.isInteger(times) || times < 0) {
    throw new VerlError(
      "VERL_BATCH_SPLIT",
      `Rows cannot be repeated ${times} times; the count is an integer, 0 or more.`,
    );
  }
  return Int32Array.from({ length: length * times }, (_, i) => (interleave ? Math.floor(i / times) : i % length));
}

/** Row i `times[i]` times. */
export function sampleRepeatedIds(length: number, times: RowIds): Int32Array {
  if (times.length !== length) {
    throw new VerlError("VERL_BATCH_SHAPE", `${times.length} repeat counts were given for ${length} rows.`);
  }
  const ids: number[] = [];
  for (let row = 0; row < length; row++) {
    for (const _ of repeatedIds(1, times[row]!, true)) ids.push(row);
  }
  return Int32Array.from(ids);
}

/** @throws VERL_BATCH_SPLIT unless `value` is an integer above 0. */
export function requirePositive(what: string, value: number): void {
  if (!Number.isInteger(value) || value < 1) {
    throw new VerlError("VERL_BATCH_SPLIT", `${what} is ${value}; it must be an integer above 0.`);
  }
}
