import { spawnSync } from "node:child_process";
import { describe, expect, it } from "@jest/globals";

const GUARD = new URL("../../core/cli/run-guard.ts", import.meta.url).href;
const STRAYS = new URL("../../core/errors/stray-errors.ts", import.meta.url).href;

/** Runs `work` under a guard, in a process of its own. */
function guarded(work: string): { code: number | null; stdout: string; stderr: string } {
  const script = `
    const { RunGuard } = await import(${JSON.stringify(GUARD)});
    await new RunGuard().run(async () => { ${work} }, () => "Last words.");
    setTimeout(() => process.stdout.write("after"), 1);`;
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
      containStrayErrors(tell, () => void setTimeout(() => { throw new Error("timer"); }, 100));
      containStrayErrors(tell, () => void setTimeout(() => void Promise.reject(new Error("rejection")), 200));
      ${leave}`;
    expect(guarded(late(""))).toEqual({ code: 0, stdout: "aftertimer rejection ", stderr: "" });
    const ended = guarded(late('setTimeout(() => { throw new TypeError("of the run"); }, 300);'));
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
