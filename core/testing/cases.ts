import { existsSync, readFileSync } from "node:fs";
import { VerlError } from "../errors/index.ts";
import { kindInfo, type Kind } from "../registry/index.ts";
import { DataProto } from "../batch/data-proto.ts";
import { mapValues, type Batch } from "./batch.ts";
import { contentOf } from "./content.ts";
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
  /** At least one result; numbers hold to 1e-5. */
  readonly expected: Expected;
}

/** Golden cases, or the path of a file that holds them (a test, or vectors of a reference) and names the key. */
export type GoldenCases<Case> = readonly Case[] | string;

const FIELDS = ["name", "input", "config", "expected"];

/** @throws VERL_TESTING_CASES for tests that would pass whatever the entry does. */
export function checkCases(kind: Kind, key: string, cases: GoldenCases<GoldenCase> | undefined): void {
  const weak = (what: string): VerlError =>
    new VerlError("VERL_TESTING_CASES", `The golden cases of the ${kindInfo(kind).title} "${key}" ${what}.`, {
      hint: "Give `cases` at least one worked example: `{ name, input, expected }`.",
      details: { kind, key },
    });
  if (typeof cases === "string") {
    if (!existsSync(cases)) throw weak(`are said to be in ${cases}, which does not exist`);
    if (!readFileSync(cases, "utf8").includes(`"${key}"`))
      throw weak(`are said to be in ${cases}, which does not name "${key}"`);
    return;
  }
  if (cases === undefined || cases.length === 0) throw weak("are missing");
  const names = new Set<string>();
  const contents = new Map<string, string>();
  for (const [index, one] of cases.entries()) {
    if (!one.name) throw weak(`have one without a name, at ${index}`);
    const odd = Object.keys(one).find((field) => !FIELDS.includes(field));
    if (odd !== undefined) throw weak(`have in "${one.name}" the field \`${odd}\`, which means nothing`);
    if (names.has(one.name)) throw weak(`have two of the name "${one.name}"`);
    names.add(one.name);
    if (leaves(one.expected ?? {}).length === 0) throw weak(`expect nothing in "${one.name}"`);
    const content = contentOf([one.input, one.config ?? {}]);
    const twin = contents.get(content);
    if (twin !== undefined) throw weak(`have the same input in "${twin}" and "${one.name}"`);
    contents.set(content, one.name);
  }
}

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

const isMatrix = (value: unknown): value is Matrix =>
  Array.isArray(value) && value.length > 0 && value.every(Array.isArray);

/** All that a value says: numbers, texts, flags, batches; none for empty lists and undefined. */
const leaves = (value: unknown): unknown[] =>
  typeof value === "object" && value !== null && !(value instanceof DataProto)
    ? Object.values(value).flatMap(leaves)
    : value === undefined
      ? []
      : [value];
