import { spawnSync } from "node:child_process";
import { describe, expect, it, jest } from "@jest/globals";

jest.setTimeout(300_000);

const CONTEXT = new URL("../../core/cli/process-context.ts", import.meta.url).href;

/** Runs a script with the context of a process of its own, in which a timer is left running. */
function withContext(script: string) {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    [
      ...["--import", "tsx", "--input-type=module", "--eval"],
      `const { processContext } = await import(${JSON.stringify(CONTEXT)});
      const ctx = processContext();
      setInterval(() => {}, 1000);
      ${script}`,
    ],
    { encoding: "utf8", timeout: 100_000, killSignal: "SIGKILL", maxBuffer: 2 ** 26 },
  );
  return { status, signal, stdout, stderr };
}

describe("a command that is done", () => {
  it("ends the process whatever the user's code left open, once its output is written", () => {
    const { status, stdout } = withContext(`
      await ctx.run(() => Promise.resolve(), () => "");
      ctx.print("x".repeat(4_000_000));
      ctx.print("the end");
      await ctx.end(3);`);
    expect(status).toBe(3);
    expect(stdout.length).toBe(4_000_009);
    expect(stdout.endsWith("\nthe end\n")).toBe(true);
  });

  it("is ended at once by a signal", () => {
    const ended = withContext('await ctx.end(0); process.kill(process.pid, "SIGTERM");');
    expect(ended).toEqual({ status: null, signal: "SIGTERM", stdout: "", stderr: "" });
  });
});
