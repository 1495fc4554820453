import { mapValues, type Batch } from "./batch.ts";

/** What an entry made of a batch, in one form for all kinds. */
export interface Outcome {
  /** Results of one number a token: rows × width. */
  readonly tokens: Readonly<Record<string, Float32Array>>;
  /** Results of the whole batch: loss and metrics. */
  readonly scalars: Readonly<Record<string, number>>;
}

/** Relative to the larger value, or to 1. Float32 sums in another order differ by less. */
const TOLERANCE = 1e-5;

type Same = (a: number, b: number) => boolean;

/** The same number; the two zeros are one, and NaN is NaN. */
export const identical: Same = (a, b) => a === b || (Number.isNaN(a) && Number.isNaN(b));

export const close: Same = (a, b) =>
  identical(a, b) || Math.abs(a - b) <= TOLERANCE * Math.max(1, Math.abs(a), Math.abs(b));

/** The first place where two outcomes differ, in words; undefined where none does. */
export function difference(got: Outcome, want: Outcome, width: number, same: Same): string | undefined {
  for (const name of namesOf(want.scalars, got.scalars)) {
    const [a, b] = [got.scalars[name], want.scalars[name]];
    if (a === undefined) return `${name} is missing`;
    if (b === undefined) return `${name} appears`;
    if (!same(a, b)) return `${name} is ${show(a)}, not ${show(b)}`;
  }
  for (const name of namesOf(want.tokens, got.tokens)) {
    const [a, b] = [got.tokens[name] ?? [], want.tokens[name] ?? []];
    if (a.length !== b.length) return `${name} has ${a.length} elements, not ${b.length}`;
    for (let at = 0; at < b.length; at++) {
      if (!same(a[at]!, b[at]!)) return `${place(name, at, width)} is ${show(a[at]!)}, not ${show(b[at]!)}`;
    }
  }
  return undefined;
}

/** The first result that is NaN or infinite, in words. */
export function notFinite({ scalars, tokens }: Outcome, width: number): string | undefined {
  for (const [name, value] of Object.entries(scalars)) if (!Number.isFinite(value)) return `${name} is ${value}`;
  for (const [name, values] of Object.entries(tokens)) {
    const at = values.findIndex((value) => !Number.isFinite(value));
    if (at >= 0) return `${place(name, at, width)} is ${values[at]}`;
  }
  return undefined;
}

/** The first result under `name` that is not 0 although the mask is, in words. */
export function notZeroBehindMask(name: string, { tokens }: Outcome, batch: Batch): string | undefined {
  const at = tokens[name]!.findIndex((value, index) => batch.mask[index] === 0 && value !== 0);
  return at < 0 ? undefined : `${place(name, at, batch.width)} is ${show(tokens[name]![at]!)} behind the mask, not 0`;
}

/** What an outcome of a padded batch says of the batch before. */
export function crop(outcome: Outcome, padded: Batch, { rows, width }: Batch): Outcome {
  const cut = (values: Float32Array): Float32Array =>
    values.filter((_, at) => at % padded.width < width && Math.floor(at / padded.width) < rows);
  return { ...outcome, tokens: mapValues(outcome.tokens, cut) };
}

/** Shares of micro-batches put together: scalars add up, rows go back to their places. */
export function join(
  shares: readonly Outcome[],
  rows: readonly (readonly number[])[],
  { width, mask }: Batch,
): Outcome {
  const scalars: Record<string, number> = {};
  const tokens: Record<string, Float32Array> = {};
  for (const [index, share] of shares.entries()) {
    for (const [name, value] of Object.entries(share.scalars)) scalars[name] = (scalars[name] ?? 0) + value;
    for (const [name, values] of Object.entries(share.tokens)) {
      const whole = (tokens[name] ??= new Float32Array(mask.length));
      for (const [from, to] of rows[index]!.entries()) {
        whole.set(values.subarray(from * width, (from + 1) * width), to * width);
      }
    }
  }
  return { scalars, tokens };
}

/** The outcome for the rows in another order. */
export function reorder(outcome: Outcome, rows: readonly number[], width: number): Outcome {
  const moved = (values: Float32Array): Float32Array =>
    values.map((_, at) => values[rows[Math.floor(at / width)]! * width + (at % width)]!);
  return { ...outcome, tokens: mapValues(outcome.tokens, moved) };
}

/** A number short enough to read. */
export const show = (value: number): string => String(Number.isFinite(value) ? Number(value.toPrecision(6)) : value);

/** `advantages[row][token]`. */
export const place = (name: string, at: number, width: number): string =>
  `${name}[${Math.floor(at / width)}][${at % width}]`;

const namesOf = (...records: readonly object[]): Set<string> => new Set(records.flatMap(Object.keys));
