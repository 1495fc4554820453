import fc from "fast-check";
import { checkInputs, type Property } from "./property.ts";

/** Tries per property. */
const RUNS = 50;
const SHOWN = 300;

/**
 * A property that must hold for all generated inputs, for kinds whose work is no batch of numbers. A failure shows the smallest input.
 * @param complaint What is wrong, in words; undefined where nothing is. It may throw as well.
 */
export const forInputs = <Subject, Input>(
  name: string,
  inputs: (subject: Subject) => fc.Arbitrary<Input>,
  complaint: (subject: Subject, input: Input) => Promise<string | undefined>,
  runs = RUNS,
): Property<Subject> => ({
  name,
  check: (subject, shrink = true) =>
    checkInputs(inputs(subject), (input) => complaint(subject, input), {
      runs,
      shrink,
      printed: (input) => `  ${shown(input)}`,
    }),
});

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
