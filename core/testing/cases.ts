import { mapValues, type Batch } from "./batch.ts";
import { close, difference, type Outcome } from "./outcome.ts";
import { Violation } from "./property.ts";
import { evaluate, type Subject } from "./subject.ts";

/** Rows × tokens. */
export type Matrix = readonly (readonly number[])[];

/** Input fields of one number a token, with whatever else an entry requires. */
export type TokenFields<Names extends string> = Readonly<Record<Names, Matrix>> & Readonly<Record<string, unknown>>;

/** One worked example: from a paper, a reference implementation, or a pencil. */
export interface GoldenCase<Input = Readonly<Record<string, unknown>>, Expected = object, Config = object> {
  readonly name: string;
  readonly input: Input;
  /** Config values besides the defaults. */
  readonly config?: Partial<Config>;
  /** At least one result, of which one is not 0; numbers hold to 1e-5. */
  readonly expected: Expected;
}

/** Golden cases, or the path of a file that holds them (a test, or vectors of a reference) and names the key. */
export type GoldenCases<Case> = readonly Case[] | string;

/** @throws Violation where the entry gives other numbers. */
export async function checkCase(subject: Subject, { input, config, expected }: GoldenCase): Promise<void> {
  const batch = batchOf(input, { ...config });
  const got = await evaluate(subject, batch);
  const want = expectedOutcome(expected as Readonly<Record<string, unknown>>);
  const unknown = Object.keys({ ...want.scalars, ...want.tokens }).find(
    (name) => !(name in got.scalars || name in got.tokens),
  );
  if (unknown !== undefined) throw new Violation(`${unknown} is expected, and there is no such result`);
  const asked: Outcome = {
    scalars: mapValues(want.scalars, (_, name) => got.scalars[name]!),
    tokens: mapValues(want.tokens, (_, name) => got.tokens[name]!),
  };
  const what = difference(asked, want, batch.width, close);
  if (what !== undefined) throw new Violation(what);
}

function expectedOutcome({ metrics, ...results }: Readonly<Record<string, unknown>>): Outcome {
  const all = Object.entries({ ...results, ...(metrics as object | undefined) }).filter(
    ([, value]) => value !== undefined,
  );
  return {
    scalars: Object.fromEntries(all.filter((entry): entry is [string, number] => typeof entry[1] === "number")),
    tokens: Object.fromEntries(
      all
        .filter(([, value]) => isMatrix(value))
        .map(([name, value]) => [name, Float32Array.from((value as Matrix).flat())]),
    ),
  };
}

/** A case's input as a batch: matrices are fields of tokens, lists are fields of rows. */
function batchOf(input: Readonly<Record<string, unknown>>, settings: Record<string, unknown>): Batch {
  const { response_mask, uid, unscored, ...fields } = input;
  const matrices = Object.entries(fields).filter((entry): entry is [string, Matrix] => isMatrix(entry[1]));
  const [, first] = matrices[0] ?? ["", []];
  const mask = (response_mask as Matrix | undefined) ?? first.map((row) => row.map(() => 1));
  return {
    rows: mask.length,
    width: mask[0]?.length ?? 0,
    mask: Float32Array.from(mask.flat()),
    tokens: Object.fromEntries(matrices.map(([name, values]) => [name, Float32Array.from(values.flat())])),
    perRow: Object.fromEntries(
      Object.entries(fields).filter(
        (entry): entry is [string, unknown[]] => Array.isArray(entry[1]) && !isMatrix(entry[1]),
      ),
    ),
    uid: (uid as string[] | undefined) ?? mask.map((_, row) => `row ${row}`),
    unscored: Uint8Array.from((unscored as number[] | undefined) ?? mask.map(() => 0)),
    settings,
  };
}

export const isMatrix = (value: unknown): value is Matrix =>
  Array.isArray(value) && value.length > 0 && value.every(Array.isArray);
