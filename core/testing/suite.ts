import * as tf from "@tensorflow/tfjs";
import { VerlError } from "../errors/index.ts";
import { BUILT_IN_PLUGIN, kindInfo, loadPlugin, type Kind } from "../registry/index.ts";
import { activateBackend } from "../tensor/index.ts";
import type { GoldenCase, GoldenCases } from "./cases.ts";
import { checkCases } from "./check-cases.ts";
import { describesItself, optionsAreChecked, type EntrySubject } from "./entry-properties.ts";
import type { FieldSpec } from "./fields.ts";
import { brokenProperty, Violation, type Property } from "./property.ts";

/** The two functions of a test runner that the kit uses; those of jest, vitest, mocha and `node:test` all fit. */
export interface TestRunner {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly it: (name: string, body: () => Promise<void>) => unknown;
}

/** What an entry is tested with. */
export interface TestedWith {
  /** Options that the tests run with. Default: the schema's defaults. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** What fields of `requires` look like that verl does not have. */
  readonly fields?: Readonly<Record<string, FieldSpec>>;
}

/** How a suite runs. */
export interface SuiteOptions<Case> extends TestedWith, Partial<TestRunner> {
  /** Worked examples, or the path of the file that holds them and names the key. */
  readonly cases: GoldenCases<Case>;
  /** Properties that do not hold by design, each with the reason. An exception for a property that holds fails. */
  readonly except?: Readonly<Record<string, string>>;
}

/** What makes the tests of a kind; each kind of the kit is one of these. */
export interface Suite<S extends EntrySubject, Case> {
  readonly kind: Kind;
  readonly key: string;
  /** Finds the entry when a test runs, so that plugins may load until then. */
  readonly subject: () => S;
  /** The kind's own properties; those of an entry's data come by themselves. */
  readonly properties: readonly Property<S>[];
  /** Throws where a golden case does not hold. */
  readonly golden: (subject: S, one: Case) => void | Promise<void>;
}

/** Defines the tests of one entry: its own data, the properties of its kind, its golden cases. */
export function defineSuite<S extends EntrySubject, Case extends GoldenCase>(
  suite: Suite<S, Case>,
  { cases, except, ...runner }: SuiteOptions<Case>,
): void {
  const { kind, key, golden } = suite;
  checkCases(kind, key, cases);
  const { describe, it } = runnerOf(runner);
  const tests = propertyTests(suite, except);
  for (const one of typeof cases === "string" ? [] : cases) {
    const name = `golden case "${one.name}"`;
    tests.push(testOf(suite, name, { name, check: (tested) => golden(tested, one) }));
  }
  describe(`${kindInfo(kind).title} "${key}"`, () => {
    for (const { name, run } of tests) void it(name, run);
  });
}

/** One test, ready to run. */
export interface PropertyTest {
  readonly name: string;
  /** @throws VERL_TESTING_PROPERTY */
  readonly run: () => Promise<void>;
}

/** The tests of an entry's own data and of the properties of its kind. @throws VERL_TESTING_SETUP for exceptions that mean nothing. */
export function propertyTests<S extends EntrySubject, Case>(
  suite: Suite<S, Case>,
  except: SuiteOptions<Case>["except"] = {},
): PropertyTest[] {
  const all: readonly Property<S>[] = [describesItself, optionsAreChecked, ...suite.properties];
  checkExceptions(except, all);
  return all.map((property) => {
    const reason = except[property.name];
    return reason === undefined
      ? testOf(suite, property.name, property)
      : testOf(suite, `needs its exception: ${property.name} (${reason})`, failing(property));
  });
}

const testOf = <S extends EntrySubject, Case>(
  { kind, key, subject }: Suite<S, Case>,
  name: string,
  property: Property<S>,
): PropertyTest => ({
  name,
  async run() {
    await prepareHost();
    const tested = subject();
    try {
      await property.check(tested);
    } catch (error) {
      throw brokenProperty(kind, key, property.name, error);
    }
  },
});

/** The property that `property` does not hold. */
function failing<S extends EntrySubject>(property: Property<S>): Property<S> {
  return {
    name: property.name,
    async check(subject) {
      try {
        await property.check(subject, false);
      } catch {
        return;
      }
      throw new Violation("it is in `except`, and it holds; take the exception out");
    },
  };
}

/** Losses need the aggregation modes, and everything a tensor backend; the caller's choice of it stands. */
async function prepareHost(): Promise<void> {
  await loadPlugin(BUILT_IN_PLUGIN);
  if (tf.engine().backendName === undefined) await activateBackend("cpu");
}

function checkExceptions(
  except: Readonly<Record<string, string>>,
  properties: readonly { readonly name: string }[],
): void {
  const names = properties.map(({ name }) => name);
  for (const [name, reason] of Object.entries(except)) {
    if (!names.includes(name)) {
      throw new VerlError("VERL_TESTING_SETUP", `\`except\` names "${name}", which is no property of this kind.`, {
        hint: `Properties are ${names.map((own) => `"${own}"`).join(", ")}.`,
      });
    }
    if (reason.trim() === "") {
      throw new VerlError("VERL_TESTING_SETUP", `\`except\` gives no reason for "${name}".`, {
        hint: "Say why the property cannot hold for this entry.",
      });
    }
  }
}

function runnerOf(given: Partial<TestRunner>): TestRunner {
  const { describe, it } = globalThis as Partial<TestRunner>;
  const runner = { describe: given.describe ?? describe, it: given.it ?? it };
  if (runner.describe && runner.it) return runner as TestRunner;
  throw new VerlError("VERL_TESTING_SETUP", "There is no `describe` and `it` to define tests with.", {
    hint: 'Run under jest, or pass them: `import { describe, it } from "node:test"` (or "vitest"), then `{ describe, it, … }`.',
  });
}
