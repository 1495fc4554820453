import { spawnSync } from "node:child_process";
import { describe, expect, it, jest } from "@jest/globals";

// Each work is a process of its own that compiles the sources.
jest.setTimeout(300_000);

const GUARD = new URL("../../core/cli/run-guard.ts", import.meta.url).href;
const STRAYS = new URL("../../core/errors/stray-errors.ts", import.meta.url).href;

/** Runs `work` under a guard, in a process of its own. */
function guarded(work: string): { code: number | null; stdout: string; stderr: string } {
  const script = `
    const { RunGuard } = await import(${JSON.stringify(GUARD)});
    await new RunGuard().run(async () => { ${work} }, () => "Last words.");
    setTimeout(() => process.stdout.write("after", () => (globalThis.isAfter = true)), 1);`;
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--input-type=module", "--eval", script],
    { encoding: "utf8" },
  );
  return { code: status, stdout, stderr };
}

describe("a guarded work", () => {
  it("that ends is not spoken of", () => {
    expect(guarded("")).toEqual({ code: 0, stdout: "after", stderr: "" });
  });

  it("is not undone by what contained code left to itself, and is by an error of anybody else's", () => {
    const late = (leave: string): string => `
      const { containStrayErrors } = await import(${JSON.stringify(STRAYS)});
      const tell = ({ message }) => process.stdout.write(message + " ");
      const after = (act) => {
        const timer = setInterval(() => { if (globalThis.isAfter) clearInterval(timer), act(); }, 5);
      };
      containStrayErrors(tell, () => after(() => { throw new Error("timer"); }));
      containStrayErrors(tell, () => after(() => void Promise.reject(new Error("rejection"))));
      ${leave}`;
    expect(guarded(late(""))).toEqual({ code: 0, stdout: "aftertimer rejection ", stderr: "" });
    const ended = guarded(late('after(() => { throw new TypeError("of the run"); });'));
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("of the run") });
  });

  it.each([
    [
      "an error of a timer",
      'setTimeout(() => { throw new TypeError("stray"); }); await new Promise(() => {});',
      "stray",
      1,
    ],
    ["a rejection", 'void Promise.reject(new TypeError("stray")); await new Promise(() => {});', "stray", 1],
    ["process.exit(0)", "process.exit(0)", "process.exit(0)", 1],
    ["process.exit(3)", "process.exit(3)", "process.exit(3)", 1],
    ["nothing left to wait for", "await new Promise(() => {});", "nothing is left to settle", 1],
  ])("ends in words by %s", (_, work, expected, code) => {
    const ended = guarded(work);
    expect(ended).toMatchObject({ code, stdout: "", stderr: expect.stringContaining(expected) });
    expect(ended.stderr).toContain("Last words.");
  });
});
