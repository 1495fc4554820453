import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Script } from "node:vm";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { Command } from "commander";
import { command } from "../../core/cli/report.ts";
import { createLogger } from "../../core/registry/logger.ts";
import { loadReportAssets } from "../../core/trainer/report/report-assets.ts";
import { buildReportData, condense, phaseTotals } from "../../core/trainer/report/report-data.ts";
import { embedJson } from "../../core/trainer/report/render-report.ts";
import { readRunFacts, writeRunFacts } from "../../core/trainer/report/run-facts.ts";
import { readMetrics, readRollouts } from "../../core/trainer/report/run-files.ts";
import { summarise } from "../../core/trainer/report/summary.ts";
import { readReportData, writeReport } from "../../core/trainer/report/write-report.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "verl-report-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const writeLines = (name: string, values: unknown[]) =>
  writeFile(
    join(dir, name),
    values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)) + "\n").join(""),
  );
const HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)"><!-- {{data}} $& <!-- slot: head -->';
const rowOf = (step: number, split: string, output = `answer ${step}`) => ({
  step, split, uid: "u", data_source: "s", input: HOSTILE, output, gts: null, score: 1, reward: {},
  prompt_ids: [1], response_ids: [2], tokens: [output], mask: [1],
}); // prettier-ignore

describe("readMetrics", () => {
  it("joins lines of a step, drops what a resumed run left behind, and counts broken lines", async () => {
    await writeLines("metrics.jsonl", [
      { step: 0, data: { val: 0.1 } },
      { step: 1, data: { a: 1 } },
      { step: 2, data: { a: 2 } },
      { step: 2, data: { val: 0.2 } },
      { step: 3, data: { a: 3 } },
      { step: 4, data: { a: 4 } },
      '{"step":5,"da',
      // Resumed from the checkpoint of step 2, which is validated again.
      { step: 2, data: { val: 0.25 } },
      { step: 3, data: { a: 33 } },
      "[1]",
    ]);
    expect(await readMetrics(join(dir, "metrics.jsonl"))).toEqual({
      records: [
        { step: 0, data: { val: 0.1 } },
        { step: 1, data: { a: 1 } },
        { step: 2, data: { a: 2, val: 0.25 } },
        { step: 3, data: { a: 33 } },
      ],
      brokenLines: 2,
    });
  });
});

describe("readRollouts", () => {
  it("keeps splits apart and drops what a resumed run left behind", async () => {
    const rows = [rowOf(0, "val"), rowOf(1, "train"), rowOf(2, "train"), rowOf(2, "val"), rowOf(3, "train"), rowOf(2, "val", "again"), rowOf(3, "train", "new")]; // prettier-ignore
    await writeLines("rollouts.jsonl", rows);
    const { train, val } = await readRollouts(join(dir, "rollouts.jsonl"));
    expect(train.map(({ step, rows: kept }) => [step, kept.map(({ output }) => output)])).toEqual([[1, ["answer 1"]], [2, ["answer 2"]], [3, ["new"]]]); // prettier-ignore
    expect(val.map(({ step, rows: kept }) => [step, kept.map(({ output }) => output)])).toEqual([[0, ["answer 0"]], [2, ["again"]]]); // prettier-ignore
  });

  it("thins a long run, and keeps its first and last step", async () => {
    await writeLines(
      "rollouts.jsonl",
      Array.from({ length: 1000 }, (_, i) => rowOf(i + 1, "train")),
    );
    const { train } = await readRollouts(join(dir, "rollouts.jsonl"));
    expect(train.length).toBeLessThanOrEqual(24);
    expect([train[0]!.step, train.at(-1)!.step]).toEqual([1, 1000]);
    expect(new Set(train.map(({ step }) => step)).size).toBe(train.length);
  });
});

describe("the report's data", () => {
  it("adds up phases, names the rest of a step, and leaves nested timers to their phase", () => {
    const data = {
      "timing_s/step": 10,
      "timing_s/gen": 6,
      "timing_s/agent_loop/max": 5,
      "timing_s/update_actor": 3,
      "timing_s/testing": 4,
    };
    expect(phaseTotals([{ step: 1, data }, { step: 2, data: { ...data, "timing_s/testing": null } }])).toEqual([
      { name: "gen", seconds: 12 },
      { name: "update_actor", seconds: 6 },
      { name: "testing", seconds: 4 },
      { name: "other", seconds: 2 },
    ]); // prettier-ignore
  });

  it("averages long curves without hiding what was not finite", () => {
    const steps = Array.from({ length: 10 }, (_, i) => i + 1);
    expect(condense({ steps, values: [1, 3, 2, null, 5, 5, 6, 8, 9, 9] }, 5)).toEqual({
      steps: [2, 4, 6, 8, 10],
      values: [2, null, 5, 7, 9],
    });
    expect(condense({ steps, values: steps }, 10)).toEqual({ steps, values: steps });
  });

  it("puts validation before reward, and sorts the rest by name", () => {
    const records = [
      { step: 1, data: { "perf/throughput": 5, "critic/score/mean": 0.5, "val-core/s/acc/mean@1": 0.1 } },
    ];
    const data = buildReportData({
      title: "t",
      records,
      rollouts: { train: [], val: [] },
      facts: undefined,
      brokenLines: 0,
    });
    expect(data.headlines.map(({ label }) => label)).toEqual(["val", "reward", "tok/s"]);
    expect(Object.keys(data.metrics)).toEqual(["critic/score/mean", "perf/throughput", "val-core/s/acc/mean@1"]);
  });
});

describe("report.html", () => {
  beforeEach(async () => {
    await writeLines("metrics.jsonl", [{ step: 1, data: { "critic/score/mean": 0.5, [HOSTILE]: 1 } }]);
    await writeLines("rollouts.jsonl", [rowOf(1, "train", HOSTILE)]);
    await writeRunFacts(dir, {
      name: HOSTILE,
      command: HOSTILE,
      seed: 1,
      config: [{ path: "a.b", value: HOSTILE, origin: "default" }],
    });
  });

  it("keeps texts of models, metrics and config as text: they open no tag and come back unchanged", async () => {
    const html = await readFile(await writeReport(dir, await readReportData(dir)), "utf8");
    expect(html).not.toContain("<script>alert");
    expect(html).not.toContain("<img");
    const json = /<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html)![1]!;
    const data = JSON.parse(json);
    expect(data.rollouts.train[0].rows[0].output).toBe(HOSTILE);
    expect(data.facts).toEqual(await readRunFacts(dir));
    expect(data.title).toBe(HOSTILE);
    expect(html.match(/<script/g)).toHaveLength(3);
  });

  it("asks the network for nothing", async () => {
    const html = await readFile(await writeReport(dir, await readReportData(dir)), "utf8");
    expect(html).not.toMatch(/(?:src|href)\s*=\s*["']?(?:https?:)?\/\//);
    expect(html).not.toMatch(/@import|url\(|fetch\(|XMLHttpRequest|WebSocket/);
    expect(html).toContain("default-src 'none'");
    expect(html).toContain("Copyright (c) 2022 Leon Sorokin");
  });

  it("holds scripts that parse", async () => {
    const { scripts, chartScript } = await loadReportAssets();
    expect(() => new Script(`(() => { "use strict"; ${scripts.join("\n")} })`)).not.toThrow();
    expect([chartScript, ...scripts].join("")).not.toContain("</script");
  });

  it("escapes what JSON in a page must not hold", () => {
    expect(embedJson({ a: "</script><!--" })).toBe('{"a":"\\u003c/script>\\u003c!--"}');
  });

  it("is built again by `verl report`, which prints its path", async () => {
    const printed: string[] = [];
    const self = new Command("report");
    command.configure(self, {
      print: (text) => printed.push(text),
      reserveStdout: () => {},
      status: () => {},
      logger: createLogger({ level: "silent" }),
      signal: new AbortController().signal,
      run: (work) => work(),
      cwd: dir,
      interactive: false,
      color: false,
    });
    await self.parseAsync(["."], { from: "user" });
    expect(printed).toEqual([join(dir, "report.html")]);
  });

  it("needs a run: a directory without one is refused with what to give", async () => {
    await cp(join(dir, "run.json"), join(dir, "empty", "run.json"));
    await expect(readReportData(join(dir, "empty"))).rejects.toMatchObject({
      code: "VERL_REPORT_RUN",
      hint: expect.stringContaining("trainer.default_local_dir"),
    });
  });
});

describe("summarise", () => {
  it("draws the curves and shows the answers that became better first, nothing a terminal would obey", async () => {
    await writeLines("metrics.jsonl", [
      { step: 0, data: { "val-core/s/reward/mean@1": 0.1 } },
      { step: 1, data: { "critic/score/mean": 0.25 } },
      { step: 2, data: { "critic/score/mean": 0.75, "val-core/s/reward/mean@1": 0.9 } },
    ]);
    const row = (step: number, uid: string, output: string, score: number | null) => ({
      ...rowOf(step, "val", output),
      input: `${uid}?`,
      uid,
      score,
    });
    await writeLines("rollouts.jsonl", [
      row(0, "a", "same", 1),
      row(0, "b", "bad\u001b[2J", 0),
      row(0, "c", "", null),
      row(2, "a", "same", 1),
      row(2, "b", "good", 1),
      row(2, "c", "x".repeat(100), 0.5),
    ]);
    expect(summarise(await readReportData(dir))).toEqual([
      "Validation  0.1 ▁█ 0.9",
      "Reward      0.25 ▁█ 0.75",
      "b? → step 0: bad [2J (0), step 2: good (1)",
      `c? → step 0: (empty) (unscored), step 2: ${"x".repeat(59)}… (0.5)`,
    ]);
  });

  it("says nothing of a run that was validated once", async () => {
    await writeLines("metrics.jsonl", [{ step: 0, data: { "val-core/s/reward/mean@1": 0.1 } }]);
    await writeLines("rollouts.jsonl", [rowOf(0, "val")]);
    expect(summarise(await readReportData(dir))).toEqual([]);
  });
});
