import fc from "fast-check";
import { VerlError } from "../errors/index.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { kindInfo, type Kind } from "../registry/index.ts";
import type { Batch } from "./batch.ts";
import { show } from "./outcome.ts";

/** One thing that every entry of a kind must do. */
export interface Property<Subject> {
  /** Also the name of its test, and the name that `except` takes. */
  readonly name: string;
  /** Throws where the subject does not do it. @param shrink False: any input that shows it will do. Default true. */
  check(subject: Subject, shrink?: boolean): void | Promise<void>;
}

/** What of an entry broke, in words. */
export class Violation extends Error {}

/** Tries per property; one seed, so that a failure comes back and a pass stays. */
const RUNS = 20;
const SEED = 20_260_101;

/**
 * Tries generated inputs until one is complained of, and makes that one small.
 * @param complaint What is wrong with an input, in words; undefined where nothing is. It may throw as well.
 * @param shrink False: the first such input will do.
 * @param printed The input in indented lines.
 * @throws Violation that shows the input.
 */
export async function checkInputs<Input>(
  inputs: fc.Arbitrary<Input>,
  complaint: (input: Input) => Promise<string | undefined>,
  { runs, shrink, printed }: { runs: number; shrink: boolean; printed: (input: Input) => string },
): Promise<void> {
  const property = fc.asyncProperty(inputs, async (input) => {
    const what = await complaint(input);
    if (what !== undefined) throw new Violation(what);
  });
  const { counterexample, errorInstance } = await fc.check(property, {
    seed: SEED,
    numRuns: runs,
    endOnFailure: !shrink,
  });
  if (counterexample === null) return;
  const what = errorInstance instanceof Violation ? errorInstance.message : `it threw ${String(errorInstance)}`;
  throw new Violation(`${what}.\nThe smallest input that shows it:\n${printed(counterexample[0])}`, {
    cause: errorInstance instanceof Violation ? undefined : errorInstance,
  });
}

/**
 * A property that must hold for all generated inputs; a failure shows the smallest input that fails.
 * @param inputs The batch, and numbers that say what is done to it; only the batch is shown, so complaints name the rest.
 * @param complaint What is wrong with an input, in words; undefined where nothing is. It may throw as well.
 */
export const forAll = <Subject, Input extends [Batch, ...unknown[]]>(
  name: string,
  inputs: (subject: Subject) => { [I in keyof Input]: fc.Arbitrary<Input[I]> },
  complaint: (subject: Subject, ...input: Input) => Promise<string | undefined>,
  runs = RUNS,
): Property<Subject> => ({
  name,
  check: (subject, shrink = true) =>
    checkInputs(fc.tuple<Input>(...inputs(subject)), (input) => complaint(subject, ...input), {
      runs,
      shrink,
      printed: ([batch]) => printed(batch),
    }),
});

/** The error of a broken property: which entry, which property, what happened with which input. */
export function brokenProperty(kind: Kind, key: string, property: string, error: unknown): VerlError {
  const what = reasonOf(error);
  return new VerlError("VERL_TESTING_PROPERTY", `The ${kindInfo(kind).title} "${key}" breaks "${property}": ${what}`, {
    hint: "Mend the entry; where the property cannot hold by design, name it in `except` with the reason.",
    details: { kind, key, property },
    cause: error instanceof Violation ? error.cause : error,
  });
}

/** A batch in lines, one a field, matrices by rows. */
function printed(value: Batch): string {
  const matrix = (values: Float32Array): string => {
    const row = (_: unknown, at: number): string =>
      `[${Array.from(values.subarray(at * value.width, (at + 1) * value.width), show).join(", ")}]`;
    return `[${Array.from({ length: value.rows }, row).join(", ")}]`;
  };
  const fields: [string, string][] = [
    ...Object.entries(value.tokens).map(([name, values]): [string, string] => [name, matrix(values)]),
    ["response_mask", matrix(value.mask)],
    ...Object.entries(value.perRow).map(([name, column]): [string, string] => [name, text(column)]),
    ["uid", text(value.uid)],
    ...Object.entries(value.settings).map(([name, setting]): [string, string] => [name, text(setting)]),
  ];
  return fields.map(([name, content]) => `  ${name}: ${content}`).join("\n");
}

const text = (value: unknown): string =>
  typeof value === "number"
    ? show(value)
    : Array.isArray(value)
      ? `[${value.map(text).join(", ")}]`
      : JSON.stringify(value);
