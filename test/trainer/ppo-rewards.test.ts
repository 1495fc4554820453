import { describe, expect, it } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import type { SampleReward } from "../../core/reward/reward-manager.ts";
import { layOutRewards, partMetrics } from "../../core/trainer/ppo-rewards.ts";

/** A batch with one prompt token and responses of the given lengths. */
function answers(lengths: readonly number[], width: number): DataProto {
  const attention = lengths.flatMap((length) => Array.from({ length: width + 1 }, (_, at) => (at <= length ? 1 : 0)));
  return DataProto.fromDict({
    responses: NdArray.zeros("int32", [lengths.length, width]),
    attention_mask: new NdArray("int32", [lengths.length, width + 1], Int32Array.from(attention)),
  });
}

describe("layOutRewards", () => {
  it("puts each score on the last token of the response", () => {
    const rewards = [
      { score: 0.5, extra: {} },
      { score: -1, extra: {} },
    ];
    const { token_level_scores, unscored } = layOutRewards(rewards, answers([2, 3], 3));
    expect([...token_level_scores.data]).toEqual([0, 0.5, 0, 0, 0, -1]);
    expect([...unscored.data]).toEqual([0, 0]);
  });

  it("puts the score of a conversation that ends with an observation on the last trainable token", () => {
    const mask = new NdArray("int32", [2, 3], Int32Array.of(1, 0, 0, 0, 0, 0));
    const batch = answers([3, 2], 3).union(DataProto.fromSingleDict({ response_mask: mask }));
    const rewards = [1, 2].map((score) => ({ score, extra: {} }));
    expect([...layOutRewards(rewards, batch).token_level_scores.data]).toEqual([1, 0, 0, 0, 2, 0]);
  });

  it("marks rows without a score or without a response", () => {
    const rewards = [
      { unscored: "error: it threw", extra: {} },
      { score: 1, extra: {} },
    ];
    const { token_level_scores, unscored } = layOutRewards(rewards, answers([2, 0], 2));
    expect([...token_level_scores.data]).toEqual([0, 0, 0, 0]);
    expect([...unscored.data]).toEqual([1, 1]);
  });

  it("keeps the parts of rows that report different ones, and averages those that are numbers", () => {
    const rewards: SampleReward[] = [
      { score: 1, extra: { acc: true, pred: "ab" } },
      { score: 0, extra: { acc: false, length: 4 } },
    ];
    const { parts } = layOutRewards(rewards, answers([1, 1], 1));
    expect(parts).toEqual({ acc: [true, false], pred: ["ab", null], length: [null, 4] });
    expect(partMetrics(parts)).toEqual({ "reward/acc/mean": 0.5, "reward/length/mean": 4 });
  });

  it("lays out a batch of no rows", () => {
    expect(layOutRewards([], answers([], 3)).token_level_scores.shape).toEqual([0, 3]);
  });
});
