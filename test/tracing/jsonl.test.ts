import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import type { TraceRecord, TraceSink } from "../../core/agent/tracing/index.ts";
import { TRACES_FILE, traceLog } from "../../core/trainer/rollout-log/trace-log.ts";
import { runTraced } from "./support.ts";

const root = mkdtempSync(join(tmpdir(), "verl-traces-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Traces of one run, in the order of their samples. */
async function traces(options: Parameters<typeof runTraced>[1]): Promise<TraceRecord[]> {
  const folder = mkdtempSync(join(root, "run-"));
  await runTraced(traceLog(folder), options);
  const lines = readFileSync(join(folder, TRACES_FILE), "utf8").trimEnd().split("\n");
  const records = lines.map((line) => JSON.parse(line) as TraceRecord);
  return records.sort((a, b) =>
    `${a.uid}/${a.sample_index}/${a.attempt}`.localeCompare(`${b.uid}/${b.sample_index}/${b.attempt}`),
  );
}

describe("traces.jsonl", () => {
  it("tells generation by generation what an answer did", async () => {
    const all = await traces({ prompts: 2 });
    expect(all.map(({ uid, sample_index }) => [uid, sample_index])).toEqual([["u1", 0], ["u1", 1], ["u2", 0], ["u2", 1]]); // prettier-ignore
    const { started, ms, spans, ...rest } = all[0]!;
    expect(rest).toEqual({
      step: 7,
      split: "train",
      uid: "u1",
      sample_index: 0,
      attempt: 0,
      agent: "two_turns",
      stop_reason: "stop",
      num_turns: 4,
    });
    expect(Date.now() - Date.parse(started)).toBeLessThan(60_000);
    expect(spans.map(({ name, prompt_tokens, response_tokens }) => [name, prompt_tokens, response_tokens])).toEqual([
      ["generate", 1, 2],
      ["tool", undefined, undefined],
      ["generate", 4, 2],
    ]);
    expect(spans[1]).toMatchObject({ ms: 250, tool: "calc", argument_chars: 25, outcome: "error", error: "too large" });
    expect(spans[2]!.start).toBeGreaterThanOrEqual(spans[0]!.start + spans[0]!.ms);
    expect(ms).toBeGreaterThanOrEqual(spans[2]!.start + spans[2]!.ms);
  });

  it("keeps texts when asked", async () => {
    const [first] = await traces({ prompts: 1, texts: true });
    expect(first!.spans[2]).toMatchObject({ prompt: "AHIB", response: "HI", stop_reason: "stop", weight_version: 0 });
    const [without] = await traces({ prompts: 1 });
    expect(without!.spans[0]).not.toHaveProperty("prompt");
  });

  it("has what attempts failed by whose prompts were not drawn, a line an error", async () => {
    let turn = 0;
    const between = (): void => {
      turn += 1;
      if (turn % 3 === 0) throw new TypeError(turn < 9 ? "flaky thing" : "another");
    };
    const all = await traces({ prompts: 6, maxSamples: 0, between });
    expect(all.map(({ error }) => error).sort()).toEqual(["another", "flaky thing"]);
    const { ms, started, ...flaky } = all.find(({ error }) => error === "flaky thing")!;
    expect(ms).toBeGreaterThanOrEqual(0);
    expect(Date.parse(started)).not.toBeNaN();
    expect(flaky).toMatchObject({ step: 7, split: "train", attempt: 0, agent: "two_turns", spans: [] });
  });

  it("has no more than a few of them a step, and none twice that were drawn", async () => {
    let turn = 0;
    const between = (): void => {
      turn += 1;
      if (turn <= 40) throw new TypeError(`no luck ${turn}`);
    };
    expect(await traces({ prompts: 40, maxSamples: 0, between })).toHaveLength(8);
    turn = 0;
    const twice = (): void => {
      turn += 1;
      if (turn <= 2) throw new TypeError("no luck");
    };
    const drawn = await traces({ prompts: 2, maxSamples: null, between: twice });
    expect(drawn.filter(({ error }) => error === "no luck")).toHaveLength(2);
  });

  it("is of a few prompts, all their answers, the same ones for the same seed", async () => {
    const drawn = async (maxSamples: number, seed = 0) =>
      (await traces({ prompts: 40, maxSamples, seed })).map(({ uid, sample_index }) => `${uid}/${sample_index}`);
    const first = await drawn(3);
    expect(first).toHaveLength(6);
    expect(new Set(first.map((name) => name.split("/")[0])).size).toBe(3);
    expect(await drawn(3)).toEqual(first);
    expect(await drawn(3, 1)).not.toEqual(first);
  });

  it("tells of attempts that failed", async () => {
    const all = await traces({ prompts: 1, failing: [1] });
    const failed = all.filter(({ error }) => error !== undefined);
    expect(failed).toHaveLength(1);
    expect(failed[0]).toMatchObject({ attempt: 0, error: "out of memory" });
    expect(failed[0]!.spans.at(-1)).toMatchObject({ name: "generate", error: "out of memory" });
    expect(
      all.find(({ attempt, sample_index }) => attempt === 1 && sample_index === failed[0]!.sample_index),
    ).toBeDefined();
  });

  it.each([
    ["aborted", "abort", "The generation was aborted."],
    ["refused", "odd" as "stop", "its stopReason is odd"],
  ] as const)("tells that an attempt failed whose answer was %s", async (_, stopReason, reason) => {
    const records: TraceRecord[] = [];
    const sink: TraceSink = { begin: () => ({ run: (work) => work(), end: (record) => void records.push(record) }) };
    await expect(runTraced(sink, { prompts: 1, stopReason })).rejects.toThrow(reason);
    expect(records.length).toBeGreaterThan(2);
    for (const { error, stop_reason } of records) {
      expect(error).toContain(reason);
      expect(stop_reason).toBeUndefined();
    }
  });
});

describe("a trace sink", () => {
  const full = (): never => {
    throw new Error("no space left");
  };
  const late = async (): Promise<never> => {
    await Promise.resolve();
    return full();
  };
  const run = <T>(work: () => Promise<T>): Promise<T> => work();
  const end = (): void => undefined;

  it.each<[string, Record<string, unknown>, string]>([
    ["cannot begin", { begin: full }, "no space left"],
    ["begins later", { begin: late }, "begin must return { run, end }"],
    ["begins with nothing", { begin: () => undefined }, "begin must return { run, end }"],
    ["does not run the work", { begin: () => ({ run: full, end }) }, "no space left"],
    [
      "fails after the work",
      { begin: () => ({ run: (work: typeof late) => run(work).then(full), end }) },
      "no space left",
    ],
    ["cannot end", { begin: () => ({ run, end: full }) }, "no space left"],
    ["ends later, in vain", { begin: () => ({ run, end: late }) }, "no space left"],
  ])("that %s costs a warning, and no answer", async (_, sink, reason) => {
    const plain = await runTraced(sink as never, { maxSamples: 0 });
    expect(plain.log.lines).toEqual([]);
    const { result, log } = await runTraced(sink as never);
    await new Promise((resolve) => setImmediate(resolve));
    expect(result.batch.tensor("responses").data).toEqual(plain.result.batch.tensor("responses").data);
    expect(result.metrics["agent_loop/retries"]).toBe(0);
    expect(log.lines).toEqual([expect.stringContaining(reason)]);
  });

  it.each<[string, (work: typeof late) => unknown]>([
    ["never runs the work", () => new Promise(() => undefined)],
    ["never ends", (work) => work().then(() => new Promise(() => undefined))],
    ["gives another answer", (work) => work().then(() => "mine")],
  ])("that %s holds no answer", async (_, odd) => {
    const { result, log } = await runTraced({ begin: () => ({ run: odd as typeof run, end }) });
    expect(result.metrics["agent_loop/retries"]).toBe(0);
    expect(log.lines).toEqual([]);
  });

  it("that is told of texts which cannot be decoded costs no answer", async () => {
    const { result, log } = await runTraced({ begin: () => ({ run, end }) }, { texts: full });
    expect(result.metrics["agent_loop/retries"]).toBe(0);
    expect(log.lines).toEqual([expect.stringContaining("no space left")]);
  });

  it("is not told of a failure of the work as one of its own", async () => {
    const { result, log } = await runTraced({ begin: () => ({ run, end }) }, { prompts: 1, failing: [1] });
    expect(result.metrics["agent_loop/retries"]).toBe(1);
    expect(log.lines).toEqual([]);
  });
});
