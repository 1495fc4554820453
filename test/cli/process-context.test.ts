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

/** Runs two ranks in threads, in native code nearly all the time, and `end`, which may wait until both are there. */
const withRanks = (pauses: boolean, end: string) => withContext(script(pauses, end));

const script = (pauses: boolean, end: string): string => `
    const { ThreadTransport } = await import(${source("core/controller/thread/thread-transport.ts")});
    const { WorkerGroup } = await import(${source("core/controller/worker-group.ts")});
    const { Listener } = await import(${source("core/controller/listener.ts")});
    const { Native } = await import(${source("test/controller/workers/native.ts")});
    const { loadPlugin } = await import(${source("test/controller/load-dispatch-modes.ts")});
    loadPlugin();
    process.on("exit", (code) => process.stdout.write("exit " + code));
    let busy;
    const ranksAtWork = new Promise((resolve) => (busy = resolve));
    const transport = new ThreadTransport();
    const start = async () => {
      const group = await WorkerGroup.create(Native, [], { worldSize: 2, transport });
      const begun = new Set();
      const told = new Listener((rank) => {
        if (begun.add(rank).size === 2) busy();
      });
      await group.multiply(told, ${pauses});
    };
    ${end}`;

describe("a command that is at work", () => {
  it.each([
    ["between its pieces", true, { status: 130, signal: null }],
    // 130 to a shell.
    ["nowhere", false, { status: null, signal: "SIGINT" }],
  ])("is ended at once by a second signal; ranks in native code can be stopped %s", (_, pauses, end) => {
    const ended = withRanks(
      pauses,
      `ctx.signal.addEventListener("abort", () => process.kill(process.pid, "SIGINT"));
      void ctx.run(start, () => "");
      await ranksAtWork;
      process.kill(process.pid, "SIGINT");`,
    );
    const stderr = "\nStopping; press Ctrl-C again to end at once.\n";
    expect(ended).toEqual({ ...end, stdout: "exit 130", stderr });
  });

  const killed =
    "Ranks in threads did not stand still within 10 s; the process is killed, as one in native code would abort it.\n";
  const strayWords = "An error that nobody caught ended the run";
  const exitWords = "code in this process called process.exit(3)";

  it.each([
    ["an error that nobody caught", "setTimeout(() => { throw new Error(); });", 1, strayWords],
    ["process.exit", "process.exit(3);", 3, exitWords],
  ])("is ended by %s, as is told, while ranks are in native code", (_, fault, code, words) => {
    const script = `void ctx.run(start, () => "Last words."); await ranksAtWork; ${fault}`;
    const said = expect.stringMatching(/Last words\.\n$/);
    const ended = withRanks(true, script);
    expect(ended).toEqual({ status: 1, signal: null, stdout: `exit ${code}`, stderr: said });
    expect(ended.stderr).toContain(words);
    const stuck = withRanks(false, script);
    expect(stuck).toMatchObject({ status: null, signal: "SIGKILL", stdout: `exit ${code}` });
    expect(stuck.stderr).toContain(words);
    expect(stuck.stderr.endsWith(killed)).toBe(true);
  });
});

it("ranks in native code are ended with their transport, and the process goes on", () => {
  const script = `const call = start().catch(({ code }) => process.stdout.write(code + " "));
    await ranksAtWork;
    await transport.close();
    await call;
    process.exit(4);`;
  expect(withRanks(true, script)).toMatchObject({ status: 4, signal: null, stdout: "VERL_WORKER_DIED exit 4" });
});

it("ranks that never leave native code are left with their transport, whose calls end, and the process goes on until it ends", () => {
  const script = `const call = start().catch(({ code }) => process.stdout.write(code + " "));
    await ranksAtWork;
    await transport.close();
    await call;
    setTimeout(() => { throw new Error("stray"); });`;
  const ended = withRanks(false, script);
  expect(ended).toMatchObject({ status: null, signal: "SIGKILL", stdout: "VERL_WORKER_DIED exit 1" });
  // Node would have told it after the end of the ranks.
  expect(ended.stderr).toMatch(/Error: stray\n {4}at [^]*\nRanks in threads did not stand still within 10 s/);
});

it("ranks of a controller that is in a thread itself stand still before that ends", () => {
  const work = script(true, "void start(); await ranksAtWork; process.exit(3);");
  const ended = withContext(`
    const { Worker } = await import("node:worker_threads");
    const tsx = JSON.stringify(import.meta.resolve("tsx/esm/api"));
    const code = "(await import(" + tsx + ")).register();" + ${JSON.stringify(work)};
    const thread = new Worker(new URL("data:text/javascript," + encodeURIComponent(code)));
    thread.on("exit", (code) => process.exit(code));`);
  expect(ended).toEqual({ status: 3, signal: null, stdout: "exit 3", stderr: "" });
});

it("the process ends with its exit code while a transport ends ranks in native code, which stand still already", () => {
  const ended = withRanks(true, "void start(); await ranksAtWork; void transport.close(); process.exit(4);");
  expect(ended).toEqual({ status: 4, signal: null, stdout: "exit 4", stderr: "" });
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

  it("ends with its exit code while ranks that nobody ended are in native code", () => {
    const ended = withRanks(true, 'await ctx.run(() => Promise.resolve(), () => ""); void start(); await ranksAtWork; await ctx.end(3);'); // prettier-ignore
    expect(ended).toEqual({ status: 3, signal: null, stdout: "exit 3", stderr: "" });
  });

  it("is ended at once by a signal", () => {
    const ended = withContext('await ctx.end(0); process.kill(process.pid, "SIGTERM");');
    expect(ended).toEqual({ status: null, signal: "SIGTERM", stdout: "", stderr: "" });
  });
});
