import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "@jest/globals";
import {
  registerKlPenalty,
  registerLossAgg,
  registerPolicyLoss,
  selectUnmasked,
  type Aggregate,
  type KlPenalty,
  type LossAgg,
  type PolicyLoss,
  type PolicyLossInput,
} from "../../core/index.ts";
import { testKlPenalty, testLossAgg, testPolicyLoss, type TestRunner } from "../../core/testing/index.ts";
import { collect, failed } from "./collect.ts";

type Matrix = tf.Tensor2D;

/** −A log π, and what a test changes of it. */
function loss(
  changed: (input: PolicyLossInput, agg: Aggregate, tokens: Matrix) => Partial<ReturnType<PolicyLoss["compute"]>>,
): PolicyLoss {
  return {
    description: "Policy gradient.",
    metrics: { "actor/mean_log_prob": "Mean of the log-probs." },
    compute(input, _config, agg) {
      const logProbs = selectUnmasked(input.log_probs, agg.mask);
      const tokens: Matrix = tf.neg(tf.mul(selectUnmasked(input.advantages, agg.mask), logProbs));
      const metrics = { "actor/mean_log_prob": agg.maskedMean(logProbs) };
      return { loss: agg.as("token-mean", tokens), metrics, ...changed(input, agg, tokens) };
    },
  };
}

const twiceTheSlope = tf.customGrad((x: unknown) => ({
  value: tf.clone(x as tf.Tensor),
  gradFunc: (dy: tf.Tensor) => tf.mul(dy, 2),
})) as (x: Matrix) => Matrix;

let calls = 0;

const WRONG_LOSSES: Record<string, PolicyLoss> = {
  "it describes itself in sentences": { ...loss(() => ({})), metrics: { "actor/mean_log_prob": "mean" } },
  "options are documented and checked": {
    ...loss(() => ({})),
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      properties: { inner: { type: "object", default: {}, description: "More.", properties: { bare: {} } } },
    },
  },
  "results have the right shape and are finite": loss((_, __, tokens) => ({ loss: tokens as unknown as tf.Scalar })),
  "masked positions are inert": loss((input, agg) => ({
    loss: agg(tf.mul(tf.mul(input.log_probs, input.advantages), agg.mask)),
  })),
  "the order of rows does not matter": loss((_, agg, tokens) => ({
    loss: agg(tf.mul(tokens, tf.reshape(tf.range(1, tokens.shape[0] + 1), [-1, 1]))),
  })),
  "padding rows change nothing": loss((_, agg, tokens) => ({ loss: agg(tf.div(tokens, tokens.shape[0])) })),
  "padding columns change nothing": loss((_, agg, tokens) => ({ loss: agg(tf.div(tokens, tokens.shape[1])) })),
  "micro-batches sum to the step": loss((_, agg, tokens) => ({
    loss: tf.div(tf.sum(tokens), tf.maximum(tf.sum(agg.mask), 1)),
  })),
  "the gradient is that of finite differences": loss((_, agg, tokens) => ({ loss: agg(twiceTheSlope(tokens)) })),
  "extreme log-ratios stay finite": loss((input, agg) => ({
    loss: agg(tf.exp(selectUnmasked(tf.sub(input.log_probs, input.old_log_probs), agg.mask))),
  })),
  "a batch without tokens gives zeros": loss((_, agg, tokens) => ({
    loss: tf.div(tf.sum(tokens), tf.sum(agg.mask)),
  })),
  "the same input gives the same bits": loss((_, agg, tokens) => ({ loss: tf.add(agg(tokens), calls++) })),
  "inputs are not written": loss((input) => {
    input.advantages.dataSync().fill(7);
    return {};
  }),
  "no tensor is left behind": loss(() => {
    tf.keep(tf.scalar(1));
    return {};
  }),
  "only declared fields and options are read": loss((input) => {
    void input["values"];
    return {};
  }),
  "metrics are declared": loss((_, agg, tokens) => ({ metrics: { "actor/else": agg.maskedMean(tokens) } })),
};

const WRONG_AGGS: Record<string, LossAgg["aggregate"]> = {
  "results have the right shape and are finite": (matrix) => tf.sum(matrix, 1) as unknown as tf.Scalar,
  "masked positions are inert": (matrix, mask, { tokens }) => tf.div(tf.sum(tf.mul(matrix, mask)), tokens),
  "micro-batches sum to the step": (matrix, mask) =>
    tf.div(tf.sum(selectUnmasked(matrix, mask)), tf.maximum(tf.sum(mask), 1)),
  "a batch without tokens gives zeros": (matrix, mask, { tokens }) =>
    tf.div(tf.sum(selectUnmasked(matrix, mask)), tf.scalar(tokens)),
};

const WRONG_KLS: Record<string, KlPenalty["compute"]> = {
  "each token stands alone": (a, b) => tf.sub(tf.sub(a, b), tf.mean(tf.sub(a, b))),
  "equal policies have no divergence": (a, b) => tf.exp(tf.sub(b, tf.sub(a, 0.1))),
  "the gradient is that of finite differences": (a, b) => twiceTheSlope(tf.sub(a, b)),
  "extreme log-ratios stay finite": (a, b) => tf.sub(tf.exp(tf.sub(a, b)), 1),
};

Object.values(WRONG_LOSSES).forEach((entry, index) => registerPolicyLoss(`wrong-${index}`, entry));
Object.values(WRONG_AGGS).forEach((aggregate, index) =>
  registerLossAgg(`wrong-${index}`, { description: "Wrong.", aggregate }),
);
Object.values(WRONG_KLS).forEach((compute, index) =>
  registerKlPenalty(`wrong-${index}`, { description: "Wrong.", compute }),
);

const lossCases = [
  {
    name: "one token",
    input: { log_probs: [[-1]], old_log_probs: [[-1]], advantages: [[2]], response_mask: [[1]] },
    expected: { loss: 2, gradient: [[-2]], metrics: { "actor/mean_log_prob": -1 } },
  },
];
const aggCases = [{ name: "one token", input: { losses: [[3]], response_mask: [[1]] }, expected: { loss: 3 } }];
const klCases = [
  { name: "half a nat", input: { log_prob: [[-1]], ref_log_prob: [[-1.5]] }, expected: { kl: [[0.5]] } },
];

const numbered = (wrong: object): [string, string][] =>
  Object.keys(wrong).map((property, index) => [property, `wrong-${index}`]);

describe.each([
  [
    "policy loss",
    WRONG_LOSSES,
    (key: string, runner: TestRunner) => testPolicyLoss(key, { cases: lossCases, ...runner }),
  ],
  [
    "loss aggregation mode",
    WRONG_AGGS,
    (key: string, runner: TestRunner) => testLossAgg(key, { cases: aggCases, ...runner }),
  ],
  ["KL estimator", WRONG_KLS, (key: string, runner: TestRunner) => testKlPenalty(key, { cases: klCases, ...runner })],
])("the suite of a %s", (title, wrong, suite) => {
  it.each(numbered(wrong))("tells that a property is broken: %s", async (property, key) => {
    const results = await collect((runner) => suite(key, runner), [property]);
    expect(results[property]).toContain(`The ${title} "${key}" breaks "${property}": `);
  });
});

it("lets an honest loss pass, and has a wrong one for each of its properties here", async () => {
  registerPolicyLoss(
    "honest",
    loss(() => ({})),
  );
  const results = await collect((runner) => testPolicyLoss("honest", { cases: lossCases, ...runner }));
  expect(failed(results)).toEqual([]);
  expect(Object.keys(results).sort()).toEqual([...Object.keys(WRONG_LOSSES), 'golden case "one token"'].sort());
});
