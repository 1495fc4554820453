import { describe, expect, it } from "@jest/globals";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import type { PpoConfig } from "../../core/config/index.ts";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import { resolveOptions, registries } from "../../core/registry/index.ts";
import type { ScoreFunction } from "../../core/reward/reward-manager.ts";
import { StepMetrics } from "../../core/trainer/metrics/step-metrics.ts";
import { DapoRewardManager, type DapoOptions } from "../../plugins/reward-manager/dapo.ts";
import { rewardManagers } from "../../plugins/reward-manager/index.ts";
import { recordingLogger, SORT_MODEL } from "../data/helpers.ts";

const tokenizer = await loadTokenizer(SORT_MODEL);
const WIDTH = 10;
for (const { kind, key, entry } of rewardManagers) registries[kind].register(key, entry);

/** Answers of the given numbers of tokens, each worth what `score` says. */
async function scoresOf(
  lengths: readonly number[],
  overlong_buffer_cfg: object,
  score: ScoreFunction = () => 1,
  more: object = {},
) {
  const attention = Int32Array.from(
    lengths.flatMap((length) => Array.from({ length: WIDTH }, (_, at) => Number(at < length))),
  );
  const batch = new DataProto({
    batch: {
      responses: NdArray.zeros("int32", [lengths.length, WIDTH]),
      attention_mask: new NdArray("int32", [lengths.length, WIDTH], attention),
    },
    nonTensorBatch: { data_source: lengths.map(() => "s") },
  });
  const options = resolveOptions("reward_manager", "dapo", { overlong_buffer_cfg, ...more }) as unknown as DapoOptions;
  const config = {
    actor_rollout_ref: { rollout: { response_length: WIDTH } },
    reward_model: { timeout_s: 60 },
  } as PpoConfig;
  const log = recordingLogger();
  const manager = new DapoRewardManager(tokenizer, { get: () => score }, options, log, config, new StepMetrics());
  return manager.score(batch, { validate: false });
}

describe("the dapo reward manager", () => {
  it("punishes answers the more, the nearer they come to the limit", async () => {
    const buffer = { enable: true, len: 4, penalty_factor: 0.5, log: true };
    const rewards = await scoresOf([1, 6, 7, 8, 10], buffer);
    const extra = (overlong_reward: number) => ({ acc: 1, overlong_reward, overlong: overlong_reward < 0 });
    expect(rewards).toEqual([
      { score: 1, extra: extra(0) },
      { score: 1, extra: extra(0) },
      { score: 0.875, extra: extra(-0.125) },
      { score: 0.75, extra: extra(-0.25) },
      { score: 0.5, extra: extra(-0.5) },
    ]);
  });

  it("counts from its own limit where it has one, and punishes no more than fully beyond it", async () => {
    const rewards = await scoresOf([6, 8, 10], { enable: true, len: 2 }, () => 0, { max_resp_len: 8 });
    expect(rewards.map((reward) => "score" in reward && reward.score)).toEqual([0, -1, -1]);
  });

  it("leaves scores alone by default, and keeps the function's own acc", async () => {
    expect(await scoresOf([10], {}, () => ({ score: 2, acc: true }))).toEqual([{ score: 2, extra: { acc: true } }]);
    expect(await scoresOf([10], {}, () => 0.5)).toEqual([{ score: 0.5, extra: { acc: 0.5 } }]);
  });

  it("leaves an answer without a score unscored", async () => {
    const rewards = await scoresOf([10], { enable: true, len: 2 }, () => NaN);
    expect(rewards).toEqual([{ unscored: expect.stringContaining("not_finite"), extra: {} }]);
  });

  it("refuses a buffer longer than an answer", async () => {
    await expect(scoresOf([1], { enable: true, len: 11 })).rejects.toMatchObject({ code: "VERL_OPTIONS_INVALID" });
    await expect(scoresOf([1], { enable: true, len: 0 })).rejects.toMatchObject({ code: "VERL_OPTIONS_INVALID" });
  });
});
