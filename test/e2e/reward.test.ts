import { afterAll, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

jest.setTimeout(300_000);

const DIST = join(import.meta.dirname, "../../dist");

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "verl-reward-"));
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(join(DIST, ".."), join(folder, "node_modules/verl"));
  const answers = Array.from({ length: 1000 }, (_, i) => `answer ${i}`);
  Object.assign(answers, { 100: "loop", 200: "throw", 300: "hoard" });
  const rows = answers.map((output, i) => ({ uid: `u${i}`, data_source: "letters", output, gts: output, score: 1 }));
  write("dump.jsonl", rows.map((row) => JSON.stringify(row)).join("\n"));
  // Decorators, types and `import "verl"`: what another process must understand as this one does.
  write(
    "plugin.ts",
    `import { definePlugin, provide, type RewardScore } from "verl";
const score: RewardScore = {
  description: "Scores by the first word.",
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    properties: { word: { type: "string", default: "answer", description: "The word." } },
  },
  score({ solution_str, word }) {
    if (solution_str === "loop") for (;;);
    if (solution_str === "throw") throw new Error("no such answer");
    if (solution_str === "hoard") for (const held = new Map<number, object>(); ; ) held.set(held.size, { held: [1] });
    return { score: solution_str.startsWith(word as string) ? 1 : 0, pid: process.pid };
  },
};
export default definePlugin({ name: "verl-plugin-words", version: "1.0.0", verl: "^0.1", provides: [provide("reward_score", "words", score)] });`,
  );
  write(
    "run.yaml",
    `plugins: [./plugin.ts]
custom_reward_function: { name: words }
reward_model:
  reward_manager: prime
  reward_kwargs: { memory_limit_mb: 128 }
  num_workers: 2
  timeout_s: 5
`,
  );
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function node(args: readonly string[], stopAt?: string): Promise<Ended> {
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
    if (stopAt !== undefined && stdout.includes(stopAt)) child.kill("SIGKILL");
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  return new Promise((resolve) => child.on("close", (code) => resolve({ code, stdout, stderr })));
}

const verl = (...args: string[]): Promise<Ended> => node([join(DIST, "bin.js"), ...args]);

/** Until the process is gone. */
async function gone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 600; tries++) {
    if (!existsSync(`/proc/${pid}`)) return true;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return false;
}

describe("verl reward run --manager prime", () => {
  it("loses three answers of a thousand: a loop, a throw, a hoarder", async () => {
    const { code, stdout, stderr } = await verl(
      ...["reward", "run", "--data", "dump.jsonl", "-c", "run.yaml", "--json", "--out", "scored.jsonl"],
    );
    expect(stderr).toContain("no score");
    expect(code).toBe(0);
    const { rows, scored, unscored, score } = JSON.parse(stdout) as Record<string, unknown>;
    expect({ rows, scored, score }).toEqual({ rows: 1000, scored: 997, score: { mean: 1, min: 1, max: 1 } });
    expect(unscored).toMatchObject({ error: { count: 1, first: "u200" }, timeout: { first: "u100" } });
    const lines = readFileSync(join(folder, "scored.jsonl"), "utf8").trim().split("\n");
    const reasons = lines.flatMap((line) => (JSON.parse(line) as { unscored?: string }).unscored ?? []);
    expect(reasons).toEqual([
      "timeout: timed out after 5 s",
      expect.stringContaining("no such answer"),
      // On a machine that does much else, its time may be over before its memory is.
      expect.stringMatching(/^memory: the score function took more than 128 MiB|^timeout/),
    ]);
    const pids = new Set(
      lines
        .map((line) => (JSON.parse(line) as { reward: { pid?: number } }).reward.pid)
        .filter((pid) => pid !== undefined),
    );
    // Two processes, one more after the loop, and two after the hoarder, which gets a second one.
    expect(pids.size).toBeGreaterThanOrEqual(3);
    for (const pid of pids) expect(await gone(pid)).toBe(true);
  });

  it("says that an option of the plugin's function is wrong before it scores", async () => {
    const { code, stderr } = await verl(
      ...["reward", "run", "--data", "dump.jsonl", "-c", "run.yaml", "+custom_reward_function.reward_kwargs.wrod=a"],
    );
    expect(code).toBe(2);
    expect(stderr).toContain("Did you mean");
  });
});

it("the pool stays as it is over 10,000 calls", async () => {
  write(
    "soak.mjs",
    `import { createScorer, loadPlugin, loadScoreFunctions } from ${JSON.stringify(join(DIST, "index.js"))};
await loadPlugin(${JSON.stringify(join(folder, "plugin.ts"))});
const functions = await loadScoreFunctions({ path: null, name: "words", reward_kwargs: {} }, process.cwd());
const pool = { workers: 2, isolation: "process", memoryLimitMb: 128 };
const scorer = createScorer([functions], { timeoutS: 1, maxConcurrent: 1, pool });
await scorer.start();
const heaps = [];
const pids = new Set();
for (let round = 0; round < 10; round++) {
  const answers = Array.from({ length: 1000 }, (_, i) => (i === 500 && round % 3 === 0 ? "loop" : "answer " + i));
  const scored = await scorer.run(answers.map((solution_str) => ({ of: 0, input: { data_source: "s", solution_str, ground_truth: null, extra_info: {} } })));
  for (const { rewards: [reward] } of scored) if (reward.extra.pid) pids.add(reward.extra.pid);
  gc();
  heaps.push(process.memoryUsage().heapUsed / 2 ** 20);
}
await scorer.dispose();
await new Promise((resolve) => setTimeout(resolve, 100));
console.log(JSON.stringify({ heaps, pids: [...pids], handles: process.getActiveResourcesInfo() }));`,
  );
  const { code, stdout, stderr } = await node(["--expose-gc", "soak.mjs"]);
  expect(stderr).toBe("");
  expect(code).toBe(0);
  const { heaps, pids, handles } = JSON.parse(stdout) as { heaps: number[]; pids: number[]; handles: string[] };
  expect(heaps.at(-1)! - heaps[1]!).toBeLessThan(2);
  expect(handles.filter((kind) => kind === "ProcessWrap" || kind === "MessagePort")).toEqual([]);
  for (const pid of pids) expect(await gone(pid)).toBe(true);
});

it("a pool ends with its program, even one that is killed while a function loops", async () => {
  write(
    "orphan.mjs",
    `import { createScorer, loadPlugin, loadScoreFunctions } from ${JSON.stringify(join(DIST, "index.js"))};
await loadPlugin(${JSON.stringify(join(folder, "plugin.ts"))});
const functions = await loadScoreFunctions({ path: null, name: "words", reward_kwargs: {} }, process.cwd());
const pool = { workers: 1, isolation: "process", memoryLimitMb: 128 };
const scorer = createScorer([functions], { timeoutS: 60, maxConcurrent: 1, pool });
const call = (solution_str) => ({ of: 0, input: { data_source: "s", solution_str, ground_truth: null, extra_info: {} } });
const [{ rewards: [reward] }] = await scorer.run([call("answer")]);
console.log(JSON.stringify({ pid: reward.extra.pid }));
void scorer.run([call("loop")]);
setTimeout(() => console.log("looping"), 300);`,
  );
  const { stdout } = await node(["orphan.mjs"], "looping");
  const { pid } = JSON.parse(stdout.split("\n")[0]!) as { pid: number };
  expect(await gone(pid)).toBe(true);
});
