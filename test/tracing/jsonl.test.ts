import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import type { TraceRecord } from "../../core/agent/tracing/index.ts";
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

  it("changes nothing of the answers, even where it cannot be written", async () => {
    const full = () => {
      throw new Error("no space left");
    };
    const { result, log } = await runTraced({ begin: () => ({ run: (work) => work(), end: full }) });
    const plain = await runTraced({ begin: full }, { maxSamples: 0 });
    expect(result.batch.tensor("responses").data).toEqual(plain.result.batch.tensor("responses").data);
    expect(log.lines).toEqual([expect.stringContaining("no space left")]);
    expect(plain.log.lines).toEqual([]);
  });
});
