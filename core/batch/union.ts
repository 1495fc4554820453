import { isDeepStrictEqual } from "node:util";
import { VerlError } from "../errors/verl-error.ts";
import { show, type ConflictPolicy } from "./meta-info.ts";
import { describe, sameShape, type NdArray } from "./nd-array.ts";
import { quoteAll, TensorDict } from "./tensor-dict.ts";

type Columns = ReadonlyMap<string, readonly unknown[]>;

/** Fields of both; a shared key must hold equal arrays, else `policy` decides. */
export function uniteTensors(left: TensorDict, right: TensorDict, policy: ConflictPolicy): TensorDict {
  const fields = new Map<string, NdArray>(left);
  for (const [key, theirs] of right) {
    const mine = fields.get(key);
    if (mine && !mine.equals(theirs)) {
      if (policy === "keep") continue;
      if (policy === "error") throw conflict(key, tensorDifference(mine, theirs), left.keys(), right.keys());
    }
    if (!mine || policy === "replace") fields.set(key, theirs);
  }
  return new TensorDict(fields);
}

/** Columns of both, by the same rule; values compare deeply. */
export function uniteColumns(left: Columns, right: Columns, policy: ConflictPolicy): Map<string, readonly unknown[]> {
  const columns = new Map(left);
  for (const [key, theirs] of right) {
    const mine = columns.get(key);
    const row = mine ? mine.findIndex((value, i) => !isDeepStrictEqual(value, theirs[i])) : -1;
    if (row >= 0) {
      if (policy === "keep") continue;
      if (policy === "error") {
        const difference = `first differs in row ${row}: ${show(mine![row])} on the left, ${show(theirs[row])} on the right`;
        throw conflict(key, difference, [...left.keys()], [...right.keys()]);
      }
    }
    if (!mine || policy === "replace") columns.set(key, theirs);
  }
  return columns;
}

/** The error for operands of different lengths; says how to repeat the shorter one when that would fit. */
export function unionSizes(left: number, right: number, leftKeys: string[], rightKeys: string[]): VerlError {
  const [short, long] = [Math.min(left, right), Math.max(left, right)];
  const hint =
    short > 0 && long % short === 0
      ? `Repeat the ${left < right ? "left" : "right"} batch ${long / short} times first: repeat(${long / short}).`
      : "Both batches need the same rows; index() or unpad() one of them first.";
  return new VerlError(
    "VERL_BATCH_SHAPE",
    `A batch of ${left} rows (${quoteAll(leftKeys)}) cannot be united with a batch of ${right} rows (${quoteAll(rightKeys)}).`,
    { hint, details: { left, right } },
  );
}

function tensorDifference(mine: NdArray, theirs: NdArray): string {
  if (mine.dtype !== theirs.dtype || !sameShape(mine.shape, theirs.shape)) {
    return `is ${describe(mine)} on the left and ${describe(theirs)} on the right`;
  }
  const row = mine.firstDifferentRow(theirs);
  const values = (array: NdArray): string =>
    show(Array.from(array.row(row).data as ArrayLike<number | bigint>).slice(0, 8));
  return `first differs in row ${row}: ${values(mine)} on the left, ${values(theirs)} on the right`;
}

function conflict(key: string, difference: string, left: string[], right: string[]): VerlError {
  return new VerlError(
    "VERL_BATCH_CONFLICT",
    `Field "${key}" ${difference}. The left batch has ${quoteAll(left)}, the right one ${quoteAll(right)}.`,
    {
      hint: 'Rename or drop one of them, or pass the conflict policy "keep" (left) or "replace" (right).',
      details: { key },
    },
  );
}
