import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { countDenominators, type PolicyLossConfig } from "../../core/algorithm/index.ts";
import { registerOrt } from "../../plugins/tensor-backend/ort/register-ort.ts";
import { actor, LOSSES, run, tensor } from "./policy-loss-cases.ts";
import { array, expectClose, flat, vectors, type Matrix } from "./vectors.ts";

interface Case {
  loss_mode: string;
  style: string;
  loss_agg_mode: string;
  inputs: Record<"old_log_prob" | "log_prob" | "advantages" | "response_mask", Matrix> & {
    rollout_is_weights?: Matrix;
  };
  config: Partial<PolicyLossConfig> & { global_batch_info: object };
  outputs: { loss: number; grad_log_prob: Matrix; metrics: Record<string, number> };
}

const cases = vectors<Case>("policy_loss").filter(({ loss_mode }) => LOSSES.includes(loss_mode));

beforeAll(() => {
  registerOrt({ threads: 1 });
});

describe.each(["cpu", "ort"])("on %s", (backend) => {
  beforeAll(async () => {
    await tf.setBackend(backend);
  });

  it.each(cases.map((one, i) => [i, one.loss_mode, one.style, one] as const))(
    "gives the reference's loss, gradient and metrics: %i, %s, %s",
    (_, key, __, { inputs, config, loss_agg_mode, outputs }) => {
      const { global_batch_info: _info, ...rest } = config;
      const mask = array(inputs.response_mask);
      const result = run(
        {
          log_probs: tensor(inputs.log_prob),
          old_log_probs: tensor(inputs.old_log_prob),
          advantages: tensor(inputs.advantages),
          response_mask: tensor(inputs.response_mask),
          ...(inputs.rollout_is_weights && { rollout_is_weights: tensor(inputs.rollout_is_weights) }),
        },
        actor(key, { ...rest, loss_agg_mode }),
        countDenominators(mask, null),
      );
      expectClose([result.loss], [outputs.loss]);
      expectClose(result.grad, flat(outputs.grad_log_prob));
      expect(Object.keys(result.metrics).sort()).toEqual(Object.keys(outputs.metrics).sort());
      for (const [name, value] of Object.entries(outputs.metrics)) expectClose([result.metrics[name]!], [value]);
    },
  );
});
