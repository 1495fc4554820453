import fc from "fast-check";
import type { FieldShapes } from "./fields.ts";

/** A small batch as the kit generates, changes and prints it; every kind makes its own inputs of it. */
export interface Batch {
  readonly rows: number;
  readonly width: number;
  /** rows × width, 0/1. */
  readonly mask: Float32Array;
  /** Fields of one number a token: rows × width. */
  readonly tokens: Readonly<Record<string, Float32Array>>;
  /** Fields of one value a row. */
  readonly perRow: Readonly<Record<string, readonly unknown[]>>;
  /** Group of each row. */
  readonly uid: readonly string[];
  /** 1 for rows without a score. */
  readonly unscored: Uint8Array;
  /** Config values that differ from input to input. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** What the entry added to the whole step: names of fields, which are among the others, and metrics. */
  readonly begun?: { readonly fields: readonly string[]; readonly metrics: Readonly<Record<string, number>> };
}

export interface BatchShape extends FieldShapes {
  readonly settings: Readonly<Record<string, fc.Arbitrary<unknown>>>;
  /** Token fields that a run may lack; half of the batches do. */
  readonly optional?: readonly string[];
}

/** No more rows than this in a generated batch. */
export const MAX_ROWS = 9;

interface RowParts {
  tokens: (Record<string, number> & { mask: number })[];
  perRow: Record<string, unknown>;
}

/**
 * Batches of one to three groups. Each row has a token, so that nothing but the values is unusual.
 * @param perGroup smallest and largest number of rows of a group.
 */
export function batches(shape: BatchShape, perGroup: readonly [number, number] = [2, 3]): fc.Arbitrary<Batch> {
  const mask = fc.constantFrom(1, 1, 1, 0);
  const row = fc.record({
    tokens: fc.array(fc.record({ ...shape.tokens, mask }), { minLength: 1, maxLength: 4 }),
    perRow: fc.record(shape.perRow),
  }) as fc.Arbitrary<RowParts>;
  const group = fc.array(row, { minLength: perGroup[0], maxLength: perGroup[1] });
  const groups = fc.array(group, { minLength: 1, maxLength: MAX_ROWS / 3 });
  return fc
    .tuple(groups, fc.record(shape.settings), fc.boolean())
    .map(([drawn, settings, whole]) => assemble(whole ? shape : withoutOptional(shape), drawn, settings));
}

const withoutOptional = (shape: BatchShape): BatchShape => ({
  ...shape,
  tokens: Object.fromEntries(Object.entries(shape.tokens).filter(([name]) => !shape.optional?.includes(name))),
});

function assemble(shape: BatchShape, groups: RowParts[][], settings: Batch["settings"]): Batch {
  const rows = groups.flat();
  const width = Math.max(...rows.map(({ tokens }) => tokens.length));
  const laidOut = (of: (token: RowParts["tokens"][number]) => number): Float32Array =>
    Float32Array.from({ length: rows.length * width }, (_, at) => {
      const token = rows[Math.floor(at / width)]!.tokens[at % width];
      return token === undefined ? 0 : of(token);
    });
  const mask = laidOut((token) => token.mask);
  for (const [row, { tokens }] of rows.entries()) {
    if (tokens.every((token) => token.mask === 0)) mask[row * width + tokens.length - 1] = 1;
  }
  return {
    rows: rows.length,
    width,
    mask,
    tokens: mapValues(shape.tokens, (_, name) => laidOut((token) => token[name]!)),
    perRow: mapValues(shape.perRow, (_, name) => rows.map(({ perRow }) => perRow[name])),
    uid: groups.flatMap((group, index) => group.map(() => `g${index}`)),
    unscored: new Uint8Array(rows.length),
    settings,
  };
}

/** An order of up to `MAX_ROWS` rows, as the numbers to sort them by; shrinks to the order that is there. */
export const orders: fc.Arbitrary<number[]> = fc.array(fc.nat(MAX_ROWS), { minLength: MAX_ROWS, maxLength: MAX_ROWS });

/** The micro-batch of each row, of at most three. */
export const splits: fc.Arbitrary<number[]> = fc.array(fc.nat(2), { minLength: MAX_ROWS, maxLength: MAX_ROWS });

/** What may stand behind a mask. */
export const junk: fc.Arbitrary<number> = fc.constantFrom(NaN, 1e9, -1e9);

export function mapValues<A, B>(
  record: Readonly<Record<string, A>>,
  change: (value: A, name: string) => B,
): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value, name)]));
}
