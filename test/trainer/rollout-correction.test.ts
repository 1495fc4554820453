import { beforeAll, expect, it, jest } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import type { AgentContext, AgentSample } from "../../core/agent/agent-loop.ts";
import type { AdvantageInput, AdvantageOutput } from "../../core/algorithm/advantage-estimator.ts";
import { DataProto } from "../../core/batch/data-proto.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { registries } from "../../core/registry/index.ts";
import { StepMetrics } from "../../core/trainer/metrics/step-metrics.ts";
import { correctBatch } from "../../core/trainer/rollout-correction.ts";
import { grpo } from "../../plugins/advantage/grpo.ts";
import { SingleTurnAgentLoop } from "../../plugins/agent-loop/single-turn.ts";
import { vanilla } from "../../plugins/policy-loss/vanilla.ts";
import { registerAll, trainFully } from "./support/full-run.ts";
import { runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

/** What the estimator got and gave, step by step. */
let seen: (AdvantageInput & AdvantageOutput)[] = [];

beforeAll(() => {
  registerAll();
  registries.agent_loop.register("test-off", {
    description: "Says of each prompt's first answer that it was less likely than it was: a ratio of e³ a token.",
    create: class extends SingleTurnAgentLoop {
      override async run(sample: AgentSample, context: AgentContext) {
        const trajectory = await super.run(sample, context);
        if (sample.sampleIndex > 0) return trajectory;
        const segments = trajectory.segments.map((segment) => ({
          ...segment,
          logprobs: segment.logprobs!.map((value) => value - 3),
        }));
        return { ...trajectory, segments };
      }
    },
  });
  registries.adv_estimator.register("test-seen", {
    ...grpo,
    compute(input, config, ctx) {
      const output = grpo.compute(input, config, ctx);
      seen.push({ ...input, ...output });
      return output;
    },
  });
  registries.policy_loss.register("test-weights", {
    ...vanilla,
    compute(input, config, agg) {
      const { loss, metrics } = vanilla.compute(input, config, agg);
      return {
        loss,
        metrics: {
          ...metrics,
          "test/weight_mean": agg.maskedMean(input.rollout_is_weights!),
          "test/tokens": tf.sum(input.response_mask),
        },
      };
    },
  });
});

const OFF = ["actor_rollout_ref.rollout.agent.default_agent_loop=test-off", "trainer.total_training_steps=2"];
const correction = (...options: readonly string[]) => options.map((option) => `algorithm.rollout_correction.${option}`);

const matrix = (rows: readonly (readonly number[])[]) =>
  new NdArray("float32", [rows.length, rows[0]!.length], Float32Array.from(rows.flat()));

it("moves the reward of a rejected token to a kept one, and changes no other field", () => {
  const mask = new NdArray("int32", [2, 3], Int32Array.from([1, 1, 1, 1, 1, 0]));
  const fields = {
    old_log_probs: matrix([
      [-1, -1, -1],
      [-1, -1, 9],
    ]),
    rollout_log_probs: matrix([
      [-1, -1, -5],
      [-5, -5, 9],
    ]),
    token_level_rewards: matrix([
      [0, 0, 2],
      [0, 3, 0],
    ]),
    token_level_scores: matrix([
      [0, 0, 2],
      [0, 3, 0],
    ]),
  };
  const batch = DataProto.fromSingleDict({ ...fields, response_mask: mask });
  const config = {
    rollout_is: null,
    rollout_is_threshold: 2,
    rollout_is_batch_normalize: false,
    rollout_rs: "token_k2",
    rollout_rs_threshold: 1,
    bypass_mode: false,
    loss_type: "ppo_clip",
  } as const;
  const { batch: corrected, rejected } = correctBatch(batch, config, new StepMetrics());
  expect([...corrected.tensor("response_mask").data]).toEqual([1, 1, 0, 0, 0, 0]);
  expect([...rejected]).toEqual([0, 1]);
  expect([...corrected.tensor("token_level_rewards").data]).toEqual([0, 2, 0, 0, 3, 0]);
  expect(corrected.tensor("token_level_scores")).toBe(fields.token_level_scores);
  expect(corrected.batch.has("rollout_is_weights")).toBe(false);
  expect([...mask.data]).toEqual([1, 1, 1, 1, 1, 0]);
});

it("measures the gap in decoupled mode even where it corrects nothing, and only there", async () => {
  const { steps } = await trainFully(runFolder(), OFF);
  // A quarter of the answers is off by 3 a token.
  for (const { data } of steps) expect(data["rollout_corr/kl"]).toBeCloseTo(-0.75, 1);
  const { steps: same } = await trainFully(runFolder(), [...OFF, "actor_rollout_ref.actor.use_rollout_log_probs=true"]);
  expect(Object.keys(same[0]!.data).filter((name) => name.startsWith("rollout_corr/"))).toEqual([]);
});

it("rejects answers in decoupled mode: they stay out of their group's baseline and out of the loss", async () => {
  seen = [];
  const { steps } = await trainFully(runFolder(), [
    ...OFF,
    ...correction("rollout_is=token", "rollout_rs=seq_mean_k2", "rollout_rs_threshold=0.5"),
    "algorithm.adv_estimator=test-seen",
    "actor_rollout_ref.actor.policy_loss.loss_mode=test-weights",
  ]);
  expect(seen).toHaveLength(2);
  for (const [step, { uid, unscored, response_mask, token_level_rewards, advantages }] of seen.entries()) {
    const firsts = uid.map((own, row) => Number(uid.indexOf(own) === row));
    expect([...unscored!]).toEqual(firsts);
    const sum = (row: number, of: NdArray<"float32">): number => of.row(row).data.reduce((a, b) => a + b, 0);
    for (const [row, first] of firsts.entries()) {
      const kept = uid.flatMap((own, other) => (own === uid[row] && firsts[other] === 0 ? [other] : []));
      const scores = kept.map((other) => sum(other, token_level_rewards));
      const mean = scores.reduce((a, b) => a + b, 0) / 3;
      const std = Math.sqrt(scores.reduce((a, b) => a + (b - mean) ** 2, 0) / 2);
      const expected = first ? 0 : (sum(row, token_level_rewards) - mean) / (std + 1e-6);
      expect(advantages.row(row).data[0]).toBeCloseTo(expected, 4);
      expect(sum(row, response_mask) === 0).toBe(first === 1);
    }
    const { data } = steps[step]!;
    expect(data["rollout_corr/rejected_row_fraction"]).toBeCloseTo(1 / 4, 6);
    // Weights were taken before rejection; what is kept was sampled as it is trained.
    expect(data["test/weight_mean"]).toBeCloseTo(1, 3);
    expect(data["test/tokens"]).toBe(seen[step]!.response_mask.data.reduce((a, b) => a + b, 0));
    expect(Number.isFinite(data["actor/grad_norm"])).toBe(true);
  }
});

it("corrects in the loss in bypass mode, from the policy as each step finds it", async () => {
  const { steps, terminal } = await trainFully(runFolder(), [
    ...OFF,
    ...correction("bypass_mode=true", "loss_type=reinforce", "rollout_is=token"),
    ...correction("rollout_rs=seq_mean_k2", "rollout_rs_threshold=0.5"),
    "actor_rollout_ref.actor.policy_loss.loss_mode=gspo",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2",
  ]);
  expect(terminal).toContain(`"gspo" is not used`);
  for (const { data } of steps) {
    expect(data["rollout_corr/rejected_row_fraction"]).toBeCloseTo(1 / 4, 6);
    expect(data["rollout_corr/rollout_is_max"]).toBeGreaterThan(1);
    expect(data["actor/grad_norm"]).toBeGreaterThan(0);
  }
});

it("gives a fully rejected batch a loss of 0 and leaves the weights finite", async () => {
  const { steps } = await trainFully(runFolder(), [
    ...OFF,
    ...correction("rollout_rs=token_k1", "rollout_rs_threshold=1000.0_1001.0"),
  ]);
  for (const { data } of steps) {
    expect(data["rollout_corr/rejected_row_fraction"]).toBe(1);
    expect(data["actor/loss"]).toBe(0);
    expect(data["actor/grad_norm"]).toBe(0);
  }
});
