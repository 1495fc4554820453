import { describe, expect, it } from "@jest/globals";
import { headlineNames, headlines } from "../../core/trainer/metrics/headlines.ts";
import {
  clock,
  liveLine,
  median,
  plainLine,
  shortNumber,
  type ProgressState,
} from "../../core/trainer/progress/progress-line.ts";
import { Progress } from "../../core/trainer/progress/progress.ts";

const state: ProgressState = {
  step: 42,
  total: 150,
  phase: "generate",
  phaseDone: 312,
  phaseTotal: 1024,
  etaSeconds: 52,
  headlines: new Map([
    ["val", 0.8203],
    ["reward", 0.61],
    ["tok/s", 21345],
  ]),
};

/** A stream that keeps what was written, and a clock that is moved by hand. */
function setUp(isTTY: boolean, env: Record<string, string> = {}, start = 0) {
  const written: string[] = [];
  const time = { now: 0 };
  let fail = () => {};
  const stream = {
    isTTY,
    columns: 120,
    write: (text: string) => written.push(text),
    on: (_: "error", listener: () => void) => (fail = listener),
  };
  const progress = new Progress({ total: 10, start, stream, env, now: () => time.now });
  return { progress, written, time, fail: () => fail() };
}

describe("the line", () => {
  it("shows bar, phase, time left and numbers", () => {
    expect(liveLine(state, { columns: 120, color: false })).toBe(
      "42/150 ━━━━━───────────────" + " · generate 312/1024 · eta 0:52 · val 0.82 · reward 0.61 · tok/s 21.3k",
    );
    expect(plainLine(state)).toBe("step 42/150, generate 312/1024, eta 0:52, val 0.82, reward 0.61, tok/s 21.3k");
  });

  it("drops whole items that do not fit, and never fills the last column", () => {
    for (let columns = 28; columns < 120; columns++) {
      const line = liveLine(state, { columns, color: false });
      expect(line.length).toBeLessThan(columns);
      expect(line).toMatch(
        /^42\/150 [━─]{20}( · generate 312\/1024( · eta 0:52( · val 0\.82( · reward 0\.61( · tok\/s 21\.3k)?)?)?)?)?$/,
      );
    }
  });

  it("holds no escape sequence without colour, and the same text with it", () => {
    const plain = liveLine(state, { columns: 120, color: false });
    const painted = liveLine(state, { columns: 120, color: true });
    expect(plain).not.toContain("\x1b");
    expect(painted).toContain("\x1b[36m");
    expect(painted.replace(/\x1b\[\d+m/g, "")).toBe(plain);
  });

  it.each([
    [0.4, "0:00"],
    [61, "1:01"],
    [3723, "1:02:03"],
    [2 * 86400 + 3 * 3600, "2d 03:00"],
  ])("writes %d seconds as %s", (seconds, text) => expect(clock(seconds)).toBe(text));

  it.each([
    [0.000123456, "0.000123"],
    [0.5, "0.5"],
    [-1234.5, "-1230"],
    [21345, "21.3k"],
    [3456789, "3.46M"],
    [Number.NaN, "NaN"],
  ])("writes %d as %s", (value, text) => expect(shortNumber(value)).toBe(text));

  it("takes the middle of odd and even lists", () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([9, 1, 5, 6])).toBe(5.5);
  });
});

describe("headlines", () => {
  it("finds the numbers that one follows a run by, the best source first", () => {
    const metrics = {
      "actor/ppo_kl": 0.1,
      "critic/score/mean": 0.6,
      "val-core/sort/acc/best@4/mean": 0.9,
      "val-core/sort/acc/mean@4": 0.7,
      "val-aux/sort/acc/mean@1": 0.2,
      "perf/throughput": 5,
    };
    expect([...headlines(metrics)]).toEqual([["val", 0.7], ["reward", 0.6], ["kl", 0.1], ["tok/s", 5]]); // prettier-ignore
    expect(headlineNames(["train/loss", "val/loss"])).toEqual(new Map([["val", "val/loss"], ["loss", "train/loss"]])); // prettier-ignore
  });
});

describe("Progress on a terminal", () => {
  it("redraws one line, no faster than ten times a second", () => {
    const { progress, written, time } = setUp(true);
    const advance = progress.phase("generate", 100);
    for (let done = 1; done <= 100; done++) {
      time.now += 2;
      advance(done);
    }
    progress.close();
    expect(written.every((text) => text === "\n" || (text.startsWith("\r\x1b[2K") && !text.includes("\n")))).toBe(true);
    expect(written.length).toBeLessThanOrEqual(6);
    expect(written.at(-2)).toContain("generate 100/100");
    expect(written.at(-1)).toBe("\n");
  });

  it("counts the time left by the median step, whatever one slow step did", () => {
    const { progress, written, time } = setUp(true, { NO_COLOR: "1" }, 2);
    for (const [step, seconds] of [
      [3, 2],
      [4, 60],
      [5, 2],
    ] as const) {
      // prettier-ignore
      time.now += seconds * 1000;
      progress.stepDone(step, {});
    }
    expect(written.at(-1)).toContain("5/10 ");
    expect(written.at(-1)).toContain("eta 0:10");
    progress.close();
  });

  it("keeps validation numbers until new ones come, and puts notes above the line", () => {
    const { progress, written, time } = setUp(true, { NO_COLOR: "1" });
    progress.show({ "val-core/s/reward/mean@1": 0.1 });
    time.now += 1000;
    progress.stepDone(1, { "critic/score/mean": 0.2 });
    expect(written.at(-1)).toMatch(/val 0\.1 · reward 0\.2$/);
    progress.note("saved");
    expect(written.at(-2)).toBe("\r\x1b[2Ksaved\n");
    expect(written.at(-1)).toMatch(/reward 0\.2$/);
    progress.close();
  });

  it("ignores a late part count of a phase that is over", () => {
    const { progress, written, time } = setUp(true, { NO_COLOR: "1" });
    const advance = progress.phase("generate", 4);
    progress.phase("update");
    time.now += 1000;
    advance(3);
    progress.note("x");
    expect(written.at(-1)).toMatch(/ · update$/);
    progress.close();
  });
});

describe("Progress elsewhere", () => {
  it.each([
    ["a pipe", false, {}],
    ["CI", true, { CI: "true" }],
    ["a dumb terminal", true, { TERM: "dumb" }],
  ])("writes plain lines now and then, and at the end: %s", (_, isTTY, env) => {
    const { progress, written, time } = setUp(isTTY, env);
    for (let step = 1; step <= 10; step++) {
      time.now += 9000;
      progress.stepDone(step, { "critic/score/mean": step / 10 });
    }
    progress.close();
    expect(written).toEqual([
      "step 3/10, eta 1:03, reward 0.3\n",
      "step 6/10, eta 0:36, reward 0.6\n",
      "step 9/10, eta 0:09, reward 0.9\n",
      "step 10/10, reward 1\n",
    ]);
  });

  it("falls silent when the reader of the pipe has gone", () => {
    const { progress, written, fail } = setUp(false);
    progress.note("one");
    fail();
    progress.note("two");
    progress.stepDone(10, {});
    expect(written).toEqual(["one\n"]);
  });
});
