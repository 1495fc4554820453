import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { toSampleReward, unscored, unscoredClass } from "../../core/reward/sample-reward.ts";
import { unscoredMetrics } from "../../core/reward/score-batch.ts";

describe("toSampleReward", () => {
  it.each([
    [0.5, { score: 0.5, extra: {} }],
    [true, { score: 1, extra: {} }],
    [{ score: 2 }, { score: 2, extra: {} }],
    [
      { score: false, acc: 1, ok: true, pred: "x", none: null, bad: NaN, big: 3n, nested: { a: 1 } },
      { score: 0, extra: { acc: 1, ok: true, pred: "x", none: null, bad: null, big: 3 }, notFinite: ["bad"] },
    ],
  ])("scores %j", (result, expected) => {
    expect(toSampleReward(result)).toEqual(expected);
  });

  it.each([
    [NaN, "not_finite", "NaN"],
    [-Infinity, "not_finite", "-Infinity"],
    ["1", "not_a_number", 'the string "1"'],
    [undefined, "not_a_number", "nothing"],
    [null, "not_a_number", "null"],
    [[1], "not_a_number", "an array"],
    [{ acc: 1 }, "not_a_number", "without score (it has acc)"],
    [{ score: "1" }, "not_a_number", 'the string "1"'],
    [{ score: NaN }, "not_finite", "NaN"],
  ])("leaves %p unscored", (result, kind, detail) => {
    const reward = toSampleReward(result) as { unscored: string };
    expect(unscoredClass(reward.unscored)).toBe(kind);
    expect(reward.unscored).toContain(detail);
  });

  it("gives a finite score or a reason, whatever comes", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true }), (result) => {
        const reward = toSampleReward(result);
        if ("score" in reward) expect(Number.isFinite(reward.score)).toBe(true);
        else expect(unscoredClass(reward.unscored)).toMatch(/^not_/);
        for (const value of Object.values(reward.extra)) expect(Number.isNaN(value)).toBe(false);
      }),
    );
  });

  it("reads reasons of other managers as `other`", () => {
    expect(unscoredClass("The judge was asleep")).toBe("other");
    expect(unscored("error", "x")).toEqual({ unscored: "error: x", extra: {} });
  });
});

describe("a part that is not finite", () => {
  it("is null, and counted by name", () => {
    const reward = toSampleReward({ score: 1, fmt: NaN, len: Infinity, ok: 2 });
    expect(reward).toEqual({ score: 1, extra: { fmt: null, len: null, ok: 2 }, notFinite: ["fmt", "len"] });
    const metrics = unscoredMetrics([reward, toSampleReward({ score: 1, fmt: -Infinity })]);
    expect(metrics).toMatchObject({ "reward/unscored": 0, "reward/not_finite/fmt": 2, "reward/not_finite/len": 1 });
  });
});
