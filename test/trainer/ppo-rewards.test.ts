import { describe, expect, it } from "@jest/globals";
import { NdArray } from "../../core/batch/nd-array.ts";
import { layOutRewards } from "../../core/trainer/ppo-rewards.ts";

const attention = (rows: number[][]) =>
  new NdArray("int32", [rows.length, rows[0]!.length], Int32Array.from(rows.flat()));

describe("layOutRewards", () => {
  it("puts each score on the last response token, observations counted", () => {
    const { token_level_scores, unscored } = layOutRewards(
      [
        { score: 0.5, extra: {} },
        { score: -1, extra: {} },
      ],
      attention([
        [1, 1, 0],
        [1, 1, 1],
      ]),
    );
    expect([...token_level_scores.data]).toEqual([0, 0.5, 0, 0, 0, -1]);
    expect([...unscored.data]).toEqual([0, 0]);
  });

  it("marks rows without a score or without a response, and counts them", () => {
    const { token_level_scores, unscored, metrics } = layOutRewards(
      [
        { unscored: "it threw", extra: {} },
        { score: 1, extra: {} },
      ],
      attention([
        [1, 1],
        [0, 0],
      ]),
    );
    expect([...token_level_scores.data]).toEqual([0, 0, 0, 0]);
    expect([...unscored.data]).toEqual([1, 1]);
    expect(metrics).toEqual({ "reward/unscored": 2 });
  });

  it("keeps the parts of rows that report different ones, and averages those that are numbers", () => {
    const { extra, metrics } = layOutRewards(
      [
        { score: 1, extra: { acc: true, pred: "ab" } },
        { score: 0, extra: { acc: false, length: 4 } },
      ],
      attention([[1], [1]]),
    );
    expect(extra).toEqual({ acc: [true, false], pred: ["ab", null], length: [null, 4] });
    expect(metrics).toEqual({ "reward/unscored": 0, "reward/acc/mean": 0.5, "reward/length/mean": 4 });
  });

  it("lays out a batch of no rows", () => {
    expect(layOutRewards([], new NdArray("int32", [0, 3], new Int32Array())).token_level_scores.shape).toEqual([0, 3]);
  });
});
