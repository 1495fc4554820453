import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { correctRollout, rewardsOfKeptTokens } from "../../core/algorithm/rollout-correction/index.ts";
import { DataProto, NdArray } from "../../core/batch/index.ts";
import { microBatchPartitions } from "../../core/batch/micro-batches.ts";
import { CONFIG_DEPARTURES } from "../../core/config/departures.ts";
import { registries } from "../../core/registry/index.ts";
import { StepMetrics } from "../../core/trainer/metrics/step-metrics.ts";
import { withAdvantages } from "../../core/trainer/ppo-advantages.ts";
import { grpo } from "../../plugins/advantage/grpo.ts";
import { registerAll, trainFully } from "./support/full-run.ts";
import { ppoConfig, runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

/** What the estimator was given. */
let unscored: Uint8Array | undefined;

beforeAll(() => {
  registerAll();
  registries.adv_estimator.register("test-told", {
    ...grpo,
    compute(input, config, ctx) {
      ({ unscored } = input);
      return grpo.compute(input, config, ctx);
    },
  });
});

const matrix = (...rows: readonly (readonly number[])[]) =>
  new NdArray("float32", [rows.length, rows[0]!.length], Float32Array.from(rows.flat()));

const OFF = {
  rollout_is: null,
  rollout_is_threshold: 2,
  rollout_is_batch_normalize: false,
  rollout_rs: null,
  rollout_rs_threshold: null,
};
const correct = (old: NdArray<"float32">, mask: NdArray<"float32">, config: object) =>
  correctRollout(
    { old_log_probs: old, rollout_log_probs: NdArray.zeros("float32", old.shape), response_mask: mask },
    { ...OFF, ...config },
  );

const DYNAMIC = [
  "actor_rollout_ref.actor.use_dynamic_bsz=true",
  "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=12",
];
/** No ratio is that large, so that every token is rejected. */
const ALL_REJECTED = ["rollout_rs=token_k1", "rollout_rs_threshold=1000.0_1001.0"];
const train = async (...overrides: readonly string[]) => {
  const { steps } = await trainFully(runFolder(), ["trainer.total_training_steps=1", ...overrides]);
  return steps[0]!.data;
};
const correction = (...options: readonly string[]) => options.map((option) => `algorithm.rollout_correction.${option}`);

/** A test for each row of the table, in its order. */
const TESTS: Readonly<Record<string, readonly (() => void | Promise<void>)[]>> = {
  "actor_rollout_ref.actor.use_dynamic_bsz": [
    () => expect(() => ppoConfig(runFolder(), DYNAMIC)).toThrow("is 12 tokens, but a sample may have 13"),
    () => {
      const lengths = [9, 9, 1, 1, 1, 5, 5];
      const tokens = microBatchPartitions(lengths, 10).map((part) => part.reduce((sum, row) => sum + lengths[row]!, 0));
      expect(Math.max(...tokens)).toBeLessThanOrEqual(10);
    },
  ],
  "algorithm.rollout_correction": [
    async () => {
      await train("algorithm.adv_estimator=test-told", ...correction(...ALL_REJECTED));
      expect([...unscored!]).toEqual(new Array(8).fill(1));
    },
    () => {
      const [before, after] = [matrix([1, 1, 1]), matrix([1, 1, 0])];
      expect([...rewardsOfKeptTokens(matrix([0, 0, 1]), before, after).data]).toEqual([0, 1, 0]);
    },
    () => {
      const config = {
        rollout_is: "sequence",
        rollout_is_batch_normalize: true,
        rollout_rs: "seq_mean_k2",
        rollout_rs_threshold: 9,
      };
      const padded = correct(matrix([0.5, 0.1], [7, 7]), matrix([1, 1], [0, 0]), config);
      expect(padded.metrics).toEqual(correct(matrix([0.5, 0.1]), matrix([1, 1]), config).metrics);
    },
    () => expect(correct(matrix([1]), matrix([0]), { rollout_is: "token" }).metrics).toEqual({}),
    async () => {
      const data = await train(...correction("bypass_mode=true", ...ALL_REJECTED), "trainer.n_gpus_per_node=2");
      expect(data).toMatchObject({ "rollout_corr/rejected_row_fraction": 1, "actor/loss": 0, "actor/grad_norm": 0 });
    },
  ],
  "algorithm.use_pf_ppo": [
    async () => {
      for (const estimator of ["grpo", "rloo", "reinforce_plus_plus"]) {
        const data = await train("algorithm.use_pf_ppo=true", `algorithm.adv_estimator=${estimator}`);
        expect(data["pf_ppo/distinct_fraction"]).toBeLessThanOrEqual(1);
        expect(data["actor/grad_norm"]).toBeGreaterThan(0);
      }
    },
    async () => {
      const all = await train("algorithm.use_pf_ppo=true", ...correction(...ALL_REJECTED));
      // Nothing has a weight, so that every row stays.
      expect(all["pf_ppo/distinct_fraction"]).toBe(1);
    },
  ],
  "reward_model.max_unscored_fraction": [
    () => {
      const batch = DataProto.fromSingleDict({
        token_level_rewards: matrix([9, 9], [0, 1], [0, 3]),
        response_mask: new NdArray("int32", [3, 2], Int32Array.of(1, 1, 1, 1, 0, 1)),
        unscored: new NdArray("uint8", [3], Uint8Array.of(1, 0, 0)),
        uid: ["g", "g", "g"],
      });
      const config = { gamma: 1, lam: 1, norm_adv_by_std_in_grpo: false, adv_kwargs: {} };
      const result = withAdvantages(batch, grpo, config, new StepMetrics());
      expect([...result.tensor("response_mask").data]).toEqual([0, 0, 1, 1, 0, 1]);
      expect([...result.tensor("advantages", "float32").data]).toEqual([0, 0, -1, -1, 0, 1]);
    },
  ],
};

describe.each(Object.entries(CONFIG_DEPARTURES))("%s", (key, rows) => {
  it.each(rows.map((row, at) => [row, at] as const))("%s", async (_, at) => TESTS[key]![at]!());
  it("has a test for each row", () => expect(TESTS[key]).toHaveLength(rows.length));
});
