import fc from "fast-check";
import { Violation, type Property } from "./property.ts";

/** Tries per property; one seed, so that a failure comes back and a pass stays. */
const RUNS = 50;
const SEED = 20_260_101;
const SHOWN = 300;

/**
 * A property that must hold for all generated inputs, for kinds whose work is no batch of numbers. A failure shows the smallest input.
 * @param complaint What is wrong, in words; undefined where nothing is. It may throw as well.
 */
export function forInputs<Subject, Input>(
  name: string,
  inputs: (subject: Subject) => fc.Arbitrary<Input>,
  complaint: (subject: Subject, input: Input) => Promise<string | undefined>,
  runs = RUNS,
): Property<Subject> {
  return {
    name,
    async check(subject, shrink = true) {
      const holds = async (input: Input): Promise<void> => {
        const what = await complaint(subject, input);
        if (what !== undefined) throw new Violation(what);
      };
      const { failed, counterexample, errorInstance } = await fc.check(fc.asyncProperty(inputs(subject), holds), {
        seed: SEED,
        numRuns: runs,
        endOnFailure: !shrink,
      });
      if (!failed) return;
      const what = errorInstance instanceof Violation ? errorInstance.message : `it threw ${String(errorInstance)}`;
      throw new Violation(`${what}.\nThe smallest input that shows it:\n  ${shown(counterexample?.[0])}`, {
        cause: errorInstance instanceof Violation ? undefined : errorInstance,
      });
    },
  };
}

/** A value in one line, cut where it is long. */
export function shown(value: unknown): string {
  const text = inFull(value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

/** Texts as models write them: words, numbers, signs, any letters, nothing. */
export const answers: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom("", " ", "0", "yes", "\\boxed{3}", "#### 12", '{"a": [1', "<think>", "NaN", "-1e999"),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc
    .array(fc.constantFrom("the", "answer", "is", "42", "\n", "(", "}", "\\frac{1}{2}"), { maxLength: 12 })
    .map((words) => words.join(" ")),
);

/** Does `work` with plain data, and tells in words when it wrote to them. */
export async function withoutWrites<T>(input: T, work: (input: T) => Promise<unknown>): Promise<string | undefined> {
  const before = structuredClone(input);
  await work(input);
  return inFull(before) === inFull(input) ? undefined : `it changed its input to ${shown(input)}`;
}

const inFull = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => (typeof one === "bigint" ? `${one}n` : one)) ?? "undefined";

/** What `work` comes to within some seconds; undefined where it hangs. */
export async function inTime<T>(
  work: Promise<T>,
  seconds = 5,
): Promise<{ readonly value?: T; readonly error?: unknown } | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, seconds * 1000, undefined)));
  const ended = work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  try {
    return await Promise.race([ended, late]);
  } finally {
    clearTimeout(timer);
  }
}
