import { describe, expect, it } from "@jest/globals";
import type { AdvantageEstimator, AdvantageInput } from "../../core/algorithm/index.ts";
import { NdArray } from "../../core/batch/index.ts";
import { advantageEstimators } from "../../plugins/advantage/index.ts";
import { array, expectClose, flat, vectors, type Matrix } from "./vectors.ts";

const estimators = new Map<string, AdvantageEstimator>(advantageEstimators.map(({ key, entry }) => [key, entry]));

interface Case {
  estimator: string;
  style: string;
  inputs: {
    token_level_rewards: Matrix;
    response_mask: Matrix;
    index?: string[];
    reward_baselines?: number[];
  } & Partial<Record<"values" | "old_log_prob" | "sum_pi_squared" | "rollout_is_weights", Matrix>>;
  config: {
    gamma?: number;
    lam?: number;
    norm_adv_by_std_in_grpo?: boolean;
    handle_zero_tail?: boolean;
    config?: Case["config"];
  };
  outputs: { advantages: Matrix; returns: Matrix; error?: string };
}

const compute = (one: Case, input: AdvantageInput) => {
  const settings = { ...one.config, ...one.config.config };
  const { gamma = 1, lam = 1, norm_adv_by_std_in_grpo = true, handle_zero_tail = false } = settings;
  const config = { gamma, lam, norm_adv_by_std_in_grpo, adv_kwargs: { handle_zero_tail } };
  return estimators.get(one.estimator)!.compute(input, config, { metric: () => {} });
};

function inputOf({ inputs }: Case): AdvantageInput {
  const field = (matrix?: Matrix) => matrix && array(matrix);
  const baselines = inputs.reward_baselines;
  return {
    token_level_rewards: array(inputs.token_level_rewards),
    response_mask: array(inputs.response_mask),
    uid: inputs.index ?? inputs.response_mask.map((_, row) => `${row}`),
    values: field(inputs.values),
    old_log_probs: field(inputs.old_log_prob),
    sum_pi_squared: field(inputs.sum_pi_squared),
    ...(inputs.rollout_is_weights && { rollout_is_weights: array(inputs.rollout_is_weights) }),
    reward_baselines: baselines && new NdArray("float32", [baselines.length], Float32Array.from(baselines)),
  };
}

const cases = vectors<Case>("advantage");
const keys = [...new Set(cases.map(({ estimator }) => estimator))];

/** The same with 1e9 and NaN, in turn, in every matrix where the mask is 0. */
function poisoned(input: AdvantageInput): AdvantageInput {
  const { data: mask, shape } = input.response_mask;
  const spoil = (field: unknown): unknown => {
    if (!(field instanceof NdArray) || field === input.response_mask || field.shape.length !== shape.length)
      return field;
    const data = Float32Array.from(field.data as Float32Array, (value, i) => (mask[i] ? value : i % 2 ? NaN : 1e9));
    return new NdArray("float32", field.shape, data);
  };
  return Object.fromEntries(Object.entries(input).map(([name, field]) => [name, spoil(field)])) as AdvantageInput;
}

describe.each(keys)("%s", (key) => {
  const own = cases.filter(({ estimator }) => estimator === key);

  it.each(own.map((one, i) => [i, one.style, one] as const))("gives the reference's numbers: %i, %s", (_, __, one) => {
    const input = inputOf(one);
    if (one.outputs.error) {
      expect(() => compute(one, input)).toThrow(/at least 2/);
      return;
    }
    const mask = input.response_mask.data;
    const { advantages, returns } = compute(one, input);
    expectClose(advantages.data, flat(one.outputs.advantages), mask);
    expectClose(returns.data, flat(one.outputs.returns), mask);
    for (const { data } of [advantages, returns])
      expect(data.every((value, i) => mask[i] !== 0 || value === 0)).toBe(true);
  });

  it("never reads behind the mask", () => {
    for (const one of own.filter(({ outputs }) => !outputs.error)) {
      expect(compute(one, poisoned(inputOf(one)))).toEqual(compute(one, inputOf(one)));
    }
  });
});

describe("the worked example of the reference", () => {
  const M: Matrix = [
    [1, 1, 1, 1, 1],
    [1, 1, 1, 0, 0],
    [1, 0, 0, 1, 0],
    [1, 1, 1, 0, 0],
  ];
  const base: Case["inputs"] = {
    token_level_rewards: [
      [0, 0, 0, 0, 1],
      [0, 0, 0.5, 0, 0],
      [0, 0, 0, 0.25, 0],
      [0, 0, -1, 0, 0],
    ],
    response_mask: M,
    index: ["a", "a", "b", "b"],
  };
  const run = (estimator: string, config: Case["config"] = {}, index = base.index) => {
    const one = { estimator, style: "", inputs: { ...base, index }, config } as Case;
    return compute(one, inputOf(one));
  };
  const perRow = (estimator: string, config?: Case["config"], index?: string[]): number[] => {
    const { data } = run(estimator, config, index).advantages;
    return [0, 1, 2, 3].map((row) => data[row * 5]!);
  };

  it.each([
    ["grpo_vectorized", true, [0.7071047, -0.7071047, 0.707106, -0.707106]],
    ["grpo_vectorized", false, [0.25, -0.25, 0.625, -0.625]],
    ["grpo_passk", true, [1.414209, 0, 1.414212, 0]],
    ["grpo_passk", false, [0.5, 0, 1.25, 0]],
    ["reinforce_plus_plus_baseline", true, [0.5743381, -0.5317945, 1.403937, -1.361394]],
    ["rloo", true, [0.5, -0.5, 1.25, -1.25]],
    ["rloo_vectorized", true, [0.5, -0.5, 1.25, -1.25]],
    ["opo", true, [0.1875, -0.3125, 0.75, -0.5]],
    ["gpg", true, [0.25, -0.25, 0.625, -0.625]],
  ] as const)("%s, by std: %s", (key, norm_adv_by_std_in_grpo, expected) => {
    expectClose(perRow(key, { norm_adv_by_std_in_grpo }), expected);
  });

  it.each([
    ["grpo_vectorized", [0.999999, 0.4999995, 0.2499998, -0.999999]],
    ["rloo", [1, 0.5, 0.25, -1]],
    ["rloo_vectorized", [1, 0.5, 0.25, -1]],
    ["opo", [1, 0.5, 0.25, -1]],
    ["gpg", [1, 0.5, 0.25, -1]],
    ["reinforce_plus_plus_baseline", [0.867407, 0.2409464, -0.07228392, -1.638435]],
  ] as const)("%s keeps the raw score of groups of one", (key, expected) => {
    expectClose(perRow(key, {}, ["a", "b", "c", "d"]), expected);
  });
});
