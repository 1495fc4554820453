import type { TestRunner } from "../../core/testing/index.ts";

/** What became of each test that a suite defined: undefined for those that passed, or the message. */
export type Results = Record<string, string | undefined>;

/**
 * Runs the tests of a suite by hand, so that tests can look at their failures.
 * @param only Names of the tests to run. Default: all.
 */
export async function collect(define: (runner: TestRunner) => void, only?: readonly string[]): Promise<Results> {
  const tests: [string, () => Promise<void>][] = [];
  define({ describe: (_, body) => body(), it: (name, body) => tests.push([name, body]) });
  const results: Results = {};
  for (const [name, body] of tests) {
    if (only && !only.includes(name)) continue;
    results[name] = await body().then(
      () => undefined,
      (error: Error) => error.message,
    );
  }
  return results;
}

/** Those that failed. */
export const failed = (results: Results): string[] =>
  Object.keys(results).filter((name) => results[name] !== undefined);
