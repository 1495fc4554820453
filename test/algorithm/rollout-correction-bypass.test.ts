import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "@jest/globals";
import {
  countDenominators,
  type LossDenominators,
  type PolicyLoss,
  type PolicyLossConfig,
  type PolicyLossInput,
} from "../../core/algorithm/index.ts";
import type { NdArray } from "../../core/batch/nd-array.ts";
import { lossAggs } from "../../plugins/loss-agg/index.ts";
import { bypassMode } from "../../plugins/policy-loss/bypass-mode.ts";
import { reinforce } from "../../plugins/policy-loss/reinforce.ts";
import { vanilla } from "../../plugins/policy-loss/vanilla.ts";
import { actor as actorOf, run as runLoss, tensor, type LossResult } from "./policy-loss-cases.ts";
import { array, expectClose, type Matrix } from "./vectors.ts";

const actor = (rollout_correction: object, loss_agg_mode = "token-mean"): PolicyLossConfig =>
  actorOf("bypass_mode", { loss_agg_mode, policy_loss: { loss_mode: "bypass_mode", rollout_correction } });

const matricesOf = (fields: Record<string, NdArray>): Record<string, Matrix> =>
  Object.fromEntries(
    Object.entries(fields).map(([key, field]) => [
      key,
      Array.from({ length: field.rows }, (_, at) => Array.from(field.row(at).data, Number)),
    ]),
  );

const rowOf = (matrices: Matrices, at: number): Matrices =>
  Object.fromEntries(Object.entries(matrices).map(([key, matrix]) => [key, [matrix![at]!]])) as unknown as Matrices;

interface Matrices {
  log_prob: Matrix;
  old_log_prob: Matrix;
  advantages: Matrix;
  response_mask: Matrix;
  rollout_is_weights?: Matrix;
  /** Fields of `prepare`. */
  [field: string]: Matrix | undefined;
}

/** @param step counts of the whole step; absent: these rows are all of it. */
function run(
  loss: PolicyLoss,
  { log_prob, old_log_prob, ...fields }: Matrices,
  config: PolicyLossConfig,
  step?: LossDenominators,
): Promise<LossResult> {
  const input = {
    ...Object.fromEntries(Object.entries(fields).map(([field, matrix]) => [field, matrix && tensor(matrix)])),
    log_probs: tensor(log_prob),
    old_log_probs: tensor(old_log_prob),
  } as PolicyLossInput;
  return runLoss(input, config, step ?? countDenominators(array(fields.response_mask), null), loss);
}

const expectMetrics = (actual: Record<string, number>, expected: Record<string, number>): void => {
  const names = Object.keys(expected);
  expect(Object.keys(actual)).toEqual(expect.arrayContaining(names));
  expectClose(
    names.map((name) => actual[name]!),
    Object.values(expected),
  );
};

/** A worked example, in verl's numbers. */
const EXAMPLE: Matrices = {
  old_log_prob: [
    [-1, -0.5, -2, -0.3],
    [-0.7, -1.2, -0.1, -4],
  ],
  log_prob: [
    [-0.8, -0.9, -0.5, -0.3],
    [-0.75, -0.2, -3, -1],
  ],
  advantages: [
    [1, -1, 0.5, -0.5],
    [-2, -1.5, 2, 0],
  ],
  response_mask: [
    [1, 1, 1, 0],
    [1, 1, 1, 1],
  ],
};
const RULES = { rollout_is: "token", rollout_is_threshold: 2, rollout_rs: "token_k1", rollout_rs_threshold: "0.5_4.0" };

describe("bypass_mode", () => {
  beforeAll(() => tf.setBackend("cpu").then(() => undefined));

  it("clips on the kept tokens, and leaves the weights to the ratio", async () => {
    const { loss, grad, metrics } = await run(bypassMode, EXAMPLE, actor({ ...RULES, loss_type: "ppo_clip" }));
    expectClose([loss], [0.5008196]);
    expectClose(grad, [0, 0, 0, 0, 0.6341529, 0, 0, 0]);
    expectMetrics(metrics, {
      "actor/pg_clipfrac": 0.6666667,
      "actor/ppo_kl": 0.08333334,
      "rollout_corr/rollout_is_mean": 4.311926,
      "rollout_corr/rollout_is_eff_sample_size": 0.8260543,
      "rollout_corr/rollout_rs_token_k1_std": 0.7108965,
      "rollout_corr/chi2_seq": 9.814953,
    });
  });

  it("weighs the policy gradient", async () => {
    const { loss, grad, metrics } = await run(bypassMode, EXAMPLE, actor({ ...RULES, loss_type: "reinforce" }));
    expectClose([loss], [-0.3510033]);
    expectClose(grad, [-0.4071343, 0.22344, 0, 0, 0.6341529, 0, 0, 0]);
    expectClose([metrics["actor/ppo_kl"]!], [0.08333334]);
  });

  it("is vanilla PPO when nothing is switched on", async () => {
    const [bypass, plain] = await Promise.all([bypassMode, vanilla].map((loss) => run(loss, EXAMPLE, actor({}))));
    expect([bypass!.loss, ...bypass!.grad]).toEqual([plain!.loss, ...plain!.grad]);
  });

  it("ignores weights of the batch", async () => {
    const weighted = { ...EXAMPLE, rollout_is_weights: [Array<number>(4).fill(0), Array<number>(4).fill(0)] };
    const config = actor({ loss_type: "reinforce" });
    expect(await run(bypassMode, weighted, config)).toEqual(await run(bypassMode, EXAMPLE, config));
  });

  it("is 0, with a gradient of 0, where all is rejected or masked", async () => {
    const all = await run(bypassMode, EXAMPLE, actor({ rollout_rs: "token_k2", rollout_rs_threshold: 1e-9 }));
    expect([all.loss, ...all.grad].map(Math.abs)).toEqual(Array(9).fill(0));
    const masked = { ...EXAMPLE, response_mask: [Array<number>(4).fill(0), Array<number>(4).fill(0)] };
    const none = await run(bypassMode, masked, actor({ ...RULES, loss_type: "reinforce" }));
    expect([none.loss, ...none.grad].map(Math.abs)).toEqual(Array(9).fill(0));
  });

  it("is not changed by NaN behind the mask", async () => {
    const poison = (matrix: Matrix): Matrix => [[...matrix[0]!.slice(0, 3), "nan"], matrix[1]!];
    const { old_log_prob, log_prob, advantages, response_mask } = EXAMPLE;
    const poisoned = {
      old_log_prob: poison(old_log_prob),
      log_prob: poison(log_prob),
      advantages: poison(advantages),
      response_mask,
    };
    for (const loss_type of ["ppo_clip", "reinforce"]) {
      const config = actor({ ...RULES, loss_type });
      expect(await run(bypassMode, poisoned, config)).toEqual(await run(bypassMode, EXAMPLE, config));
    }
  });

  /** What `prepare` adds to the example, and the metrics that it reports. */
  const prepare = (config: PolicyLossConfig) => {
    const metrics: Record<string, number> = {};
    const fields = bypassMode.prepare!(
      {
        log_probs: array(EXAMPLE.log_prob),
        old_log_probs: array(EXAMPLE.old_log_prob),
        advantages: array(EXAMPLE.advantages),
        response_mask: array(EXAMPLE.response_mask),
      },
      config,
      { metric: (name, value) => (metrics[name] = value) },
    );
    return { fields, metrics };
  };

  describe.each(["ppo_clip", "reinforce"])("cut into micro-batches after prepare: %s", (loss_type) => {
    it.each(lossAggs.map(({ key }) => key))("gives the loss, gradient and metrics of the whole: %s", async (mode) => {
      const config = actor({ ...RULES, loss_type, rollout_is_batch_normalize: true }, mode);
      const whole = await run(bypassMode, EXAMPLE, config);
      const { fields, metrics } = prepare(config);
      const denominators = countDenominators(fields["response_mask"]!, null);
      const [first, second] = await Promise.all(
        [0, 1].map((at) => run(bypassMode, rowOf({ ...EXAMPLE, ...matricesOf(fields) }, at), config, denominators)),
      );
      expectClose([first!.loss + second!.loss], [whole.loss]);
      expectClose([...first!.grad, ...second!.grad], whole.grad);
      for (const [name, value] of Object.entries(whole.metrics)) {
        expectClose([metrics[name] ?? first!.metrics[name]! + second!.metrics[name]!], [value]);
      }
    });
  });

  it("weighs a batch by its share of the step's tokens, where nobody prepared the step", async () => {
    const config = actor({ ...RULES, loss_type: "reinforce" });
    const alone = await run(bypassMode, rowOf(EXAMPLE, 0), config);
    const cut = await run(bypassMode, rowOf(EXAMPLE, 0), config, { tokens: 7, sequences: 2, scaleFactor: 4 });
    const share = (values: Iterable<number>): number[] => Array.from(values, (value) => (value * 3) / 7);
    expectClose([cut.loss, ...cut.grad], share([alone.loss, ...alone.grad]));
    expectClose(Object.values(cut.metrics), share(Object.values(alone.metrics)));
  });

  it("refuses options that it does not have", async () => {
    expect(() => actor({ rollout_veto: 1 })).toThrow("rollout_veto");
    expect(() => actor({ loss_type: "ppo" })).toThrow(/loss_type.*"ppo_clip", "reinforce"/);
    const unknown = actor({ rollout_rs: "token_k9", rollout_rs_threshold: 1 });
    await expect(run(bypassMode, EXAMPLE, unknown)).rejects.toThrow('names the rule "token_k9"');
  });
});

describe("reinforce", () => {
  it("is −A log π_θ, times the weights where there are some", async () => {
    const config = actor({}, "seq-mean-token-sum");
    const plain = await run(reinforce, EXAMPLE, config);
    expectClose([plain.loss], [(0.8 - 0.9 + 0.25 - 1.5 - 0.3 + 6) / 2]);
    expectClose(plain.grad, [-0.5, 0.5, -0.25, 0, 1, 0.75, -1, 0]);
    expectClose([plain.metrics["actor/ppo_kl"]!], [-0.3357143]);
    const weights: Matrix = [
      [1, 0.5, 2, "nan"],
      [0.25, 1.5, 1, 1],
    ];
    const weighted = await run(reinforce, { ...EXAMPLE, rollout_is_weights: weights }, config);
    expectClose(weighted.grad, [-0.5, 0.25, -0.5, 0, 0.25, 1.125, -1, 0]);
  });
});
