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

const source = (path: string): string => JSON.stringify(new URL(`../../${path}`, import.meta.url).href);

describe("a command that is at work", () => {
  it.each([
    ["between its pieces", true, { status: 130, signal: null }],
    // 130 to a shell.
    ["nowhere", false, { status: null, signal: "SIGINT" }],
  ])("is ended at once by a second signal; ranks in native code can be stopped %s", (_, pauses, end) => {
    const ended = withContext(`
      const { ThreadTransport } = await import(${source("core/controller/thread/thread-transport.ts")});
      const { WorkerGroup } = await import(${source("core/controller/worker-group.ts")});
      const { Listener } = await import(${source("core/controller/listener.ts")});
      const { Native } = await import(${source("test/controller/workers/native.ts")});
      const { loadPlugin } = await import(${source("test/controller/load-dispatch-modes.ts")});
      loadPlugin();
      process.on("exit", (code) => process.stdout.write("exit " + code));
      await ctx.run(async () => {
        const group = await WorkerGroup.create(Native, [], { worldSize: 2, transport: new ThreadTransport() });
        const begun = new Set();
        const told = new Listener((rank) => {
          if (begun.add(rank).size === 2) process.kill(process.pid, "SIGINT");
        });
        ctx.signal.addEventListener("abort", () => process.kill(process.pid, "SIGINT"));
        await group.multiply(told, ${pauses});
      }, () => "");`);
    const stderr = "\nStopping; press Ctrl-C again to end at once.\n";
    expect(ended).toEqual({ ...end, stdout: "exit 130", stderr });
  });
});

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
