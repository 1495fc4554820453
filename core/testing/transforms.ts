import { mapValues, type Batch } from "./batch.ts";

/** The named rows, in that order, repeats allowed. */
export function take(batch: Batch, rows: readonly number[]): Batch {
  const matrix = (values: Float32Array): Float32Array =>
    Float32Array.from(rows.flatMap((row) => [...values.subarray(row * batch.width, (row + 1) * batch.width)]));
  return {
    ...batch,
    rows: rows.length,
    mask: matrix(batch.mask),
    tokens: mapValues(batch.tokens, matrix),
    perRow: mapValues(batch.perRow, (column) => rows.map((row) => column[row])),
    uid: rows.map((row) => batch.uid[row]!),
    unscored: Uint8Array.from(rows, (row) => batch.unscored[row]!),
  };
}

/** Row numbers sorted by `keys`; rows of one key stay in order. */
export const order = (batch: Batch, keys: readonly number[]): number[] =>
  [...batch.uid.keys()].sort((a, b) => keys[a]! - keys[b]!);

/** The batch with `fill` in every field wherever the mask is 0. */
export function fillMasked(batch: Batch, fill: number): Batch {
  const filled = (values: Float32Array): Float32Array =>
    values.map((value, at) => (batch.mask[at] === 0 ? fill : value));
  return { ...batch, tokens: mapValues(batch.tokens, filled) };
}

/** `count` rows more, without any token, of the first row's group. */
export function padRows(batch: Batch, count: number, fill: number): Batch {
  const all = [...batch.uid.keys()];
  const padded = take(batch, [...all, ...Array<number>(count).fill(0)]);
  const column = (values: readonly unknown[]): unknown[] =>
    values.map((value, row) => (row >= batch.rows && typeof value === "number" ? fill : value));
  const mask = padded.mask.map((bit, at) => (at < batch.mask.length ? bit : 0));
  const tokens = mapValues(padded.tokens, (values) =>
    values.map((value, at) => (at < batch.mask.length ? value : fill)),
  );
  return { ...padded, mask, tokens, perRow: mapValues(padded.perRow, column) };
}

/** `count` masked tokens more at the end of each row. */
export function padColumns(batch: Batch, count: number, fill: number): Batch {
  const width = batch.width + count;
  const wider = (values: Float32Array, beyond: number): Float32Array =>
    Float32Array.from({ length: batch.rows * width }, (_, at) => {
      const token = at % width;
      return token < batch.width ? values[Math.floor(at / width) * batch.width + token]! : beyond;
    });
  return {
    ...batch,
    width,
    mask: wider(batch.mask, 0),
    tokens: mapValues(batch.tokens, (values) => wider(values, fill)),
  };
}

/** One row more: a copy of row `row` that nobody scored. Its reward says nothing. */
export function addUnscored(batch: Batch, row: number, reward: number): Batch {
  const longer = take(batch, [...batch.uid.keys(), row % batch.rows]);
  const unscored = longer.unscored.slice();
  unscored[batch.rows] = 1;
  const token_level_rewards = longer.tokens["token_level_rewards"]!.map((value, at) =>
    at < batch.mask.length ? value : reward,
  );
  return { ...longer, unscored, tokens: { ...longer.tokens, token_level_rewards } };
}

/** The same groups under other names, which sort the other way round. */
export function renameGroups(batch: Batch): Batch {
  const names = [...new Set(batch.uid)];
  return { ...batch, uid: batch.uid.map((uid) => `prompt ${names.length - names.indexOf(uid)}`) };
}

/** The batch with every token masked. */
export const maskAll = (batch: Batch): Batch => ({ ...batch, mask: new Float32Array(batch.mask.length) });

/** Each row `times` times, as one group. */
export function repeatRows(batch: Batch, times: number): Batch {
  const repeated = take(
    batch,
    [...batch.uid.keys()].flatMap((row) => Array<number>(times).fill(row)),
  );
  return { ...repeated, uid: repeated.uid.map((_, at) => `g${Math.floor(at / times)}`) };
}
