import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import {
  correctRollout,
  rewardsOfKeptTokens,
  ROLLOUT_CORRECTION_PRESETS,
  type RolloutCorrectionConfig,
  type RolloutCorrectionPreset,
} from "../../core/algorithm/rollout-correction/index.ts";
import { NdArray } from "../../core/batch/nd-array.ts";
import { array, expectClose, flat, vectors, type Matrix } from "./vectors.ts";

const OFF: RolloutCorrectionConfig = {
  rollout_is: null,
  rollout_is_threshold: 2,
  rollout_is_batch_normalize: false,
  rollout_rs: null,
  rollout_rs_threshold: null,
};

/** From log-ratios, against a sampler whose log-probs are all 0. */
const correct = (logRatio: Matrix, mask: Matrix, config: Partial<RolloutCorrectionConfig>) =>
  correctRollout(
    {
      old_log_probs: array(logRatio),
      rollout_log_probs: NdArray.zeros("float32", [logRatio.length, logRatio[0]!.length]),
      response_mask: array(mask),
    },
    { ...OFF, ...config },
  );

const rows = (matrix: NdArray): number[][] =>
  Array.from({ length: matrix.rows }, (_, row) => Array.from(matrix.row(row).data, Number));

describe("the reference's numbers", () => {
  interface Case {
    style: string;
    config: RolloutCorrectionConfig;
    inputs: Record<"old_log_prob" | "rollout_log_prob" | "response_mask", Matrix>;
    outputs: { rollout_is_weights: Matrix | null; response_mask: Matrix; metrics?: Record<string, number> };
  }
  const cases = vectors<Case>("rollout_correction");

  it.each(cases.map((one, i) => [i, one.style, one.config.rollout_is, one.config.rollout_rs, one] as const))(
    "case %i: %s, weights %s, rules %s",
    (_, __, ___, ____, { config, inputs, outputs }) => {
      const result = correctRollout(
        {
          old_log_probs: array(inputs.old_log_prob),
          rollout_log_probs: array(inputs.rollout_log_prob),
          response_mask: array(inputs.response_mask),
        },
        config,
      );
      expect(result.response_mask.data).toEqual(flat(outputs.response_mask));
      if (outputs.rollout_is_weights) expectClose(result.rollout_is_weights!.data, flat(outputs.rollout_is_weights));
      else expect(result.rollout_is_weights).toBeUndefined();
      for (const [name, value] of Object.entries(outputs.metrics ?? {})) {
        try {
          expectClose([result.metrics[name]!], [value]);
        } catch (error) {
          throw new Error(`${name}: ${String(error)}`);
        }
      }
    },
  );

  it("covers metrics of all styles but the one whose numbers are a fault", () => {
    const without = cases.filter(({ outputs }) => Object.keys(outputs.metrics ?? {}).length === 0);
    expect(new Set(without.map(({ style }) => style))).toEqual(new Set(["empty"]));
    expect(cases).toHaveLength(215);
  });
});

/** The worked example of three answers, the last without tokens. */
const LOG_RATIO: Matrix = [
  [0.2, -0.4, 1.5, 9.9],
  [-0.05, 1, -2.9, 3],
  [7, 7, 7, 7],
];
const MASK: Matrix = [
  [1, 1, 1, 0],
  [1, 1, 1, 1],
  [0, 0, 0, 0],
];

describe("importance weights", () => {
  it("are exp Δ a token, cut above", () => {
    const { rollout_is_weights } = correct(LOG_RATIO, MASK, { rollout_is: "token" });
    expectClose(rollout_is_weights!.data, [1.221403, 0.67032, 2, 0, 0.9512295, 2, 0.05502322, 2, 0, 0, 0, 0]);
  });

  it("are divided by their mean over tokens", () => {
    const { rollout_is_weights, metrics } = correct(LOG_RATIO, MASK, {
      rollout_is: "token",
      rollout_is_batch_normalize: true,
    });
    expectClose([metrics["rollout_corr/rollout_is_batch_norm_factor"]!], [1.271139]);
    expectClose(rollout_is_weights!.row(0).data, [0.9608724, 0.527338, 1.573392, 0]);
  });

  it("are one of a whole answer, divided by their mean over answers that have tokens", () => {
    const sequence = { rollout_is: "sequence" } as const;
    const cut = correct(LOG_RATIO, MASK, sequence);
    expect(rows(cut.rollout_is_weights!)).toEqual(MASK.map((row) => row.map((bit) => Number(bit) * 2)));
    const normalized = correct(LOG_RATIO, MASK, { ...sequence, rollout_is_batch_normalize: true });
    expect(rows(normalized.rollout_is_weights!)).toEqual(MASK);
    expect(normalized.metrics["rollout_corr/rollout_is_batch_norm_factor"]).toBe(2);
  });
});

describe("rejection", () => {
  it.each([
    ["token_k1", "0.5_4.0", [1, 1, 0], [1, 0, 0, 0], 4 / 7, 1],
    ["token_k1", 2, [1, 1, 0], [1, 0, 0, 0], 4 / 7, 1],
    ["token_k2", 1, [1, 1, 0], [1, 1, 0, 0], 3 / 7, 1],
    ["token_k3", "1.0", [1, 1, 0], [1, 1, 0, 0], 3 / 7, 1],
    ["seq_sum_k1", "0.5_2.0", [0, 0, 0], [0, 0, 0, 0], 1, 1],
    ["seq_sum_k2", 3, [1, 1, 1], [0, 0, 0, 0], 4 / 7, 0.5],
    ["seq_sum_k3", 3, [1, 1, 1], [0, 0, 0, 0], 4 / 7, 0.5],
    ["seq_mean_k1", "0.7_1.5", [0, 0, 0], [1, 1, 1, 1], 3 / 7, 0.5],
    ["seq_mean_k2", 2, [1, 1, 1], [0, 0, 0, 0], 4 / 7, 0.5],
    ["seq_mean_k3", 5, [1, 1, 1], [1, 1, 1, 1], 0, 0],
    ["seq_max_k2", 2, [1, 1, 1], [0, 0, 0, 0], 4 / 7, 0.5],
    ["seq_max_k3", 10, [1, 1, 1], [0, 0, 0, 0], 4 / 7, 0.5],
    ["token_k3, seq_max_k2", "5.0, 4.4", [1, 1, 1], [0, 0, 0, 0], 4 / 7, 0.5],
    ["token_k1,token_k1,seq_mean_k3", "0.5_2.0,6", [1, 1, 0], [1, 0, 0, 0], 4 / 7, 1],
  ] as const)("by %s at %s", (rollout_rs, rollout_rs_threshold, first, second, tokens, answers) => {
    const { response_mask, metrics } = correct(LOG_RATIO, MASK, { rollout_rs, rollout_rs_threshold });
    expect(rows(response_mask)).toEqual([[...first, 0], [...second], [0, 0, 0, 0]]);
    expectClose([metrics["rollout_corr/rollout_rs_masked_fraction"]!], [tokens]);
    // Of the two answers that have tokens; the reference divides by all three.
    expect(metrics["rollout_corr/rollout_rs_seq_masked_fraction"]).toBe(answers);
  });

  it("flags rows that lost everything, and only those", () => {
    const { rejected, metrics } = correct(LOG_RATIO, MASK, { rollout_rs: "seq_sum_k2", rollout_rs_threshold: 3 });
    expect([...rejected]).toEqual([0, 1, 0]);
    expect(metrics["rollout_corr/rejected_row_fraction"]).toBe(0.5);
    const partly = correct(LOG_RATIO, MASK, { rollout_rs: "token_k2", rollout_rs_threshold: 1 });
    expect([...partly.rejected]).toEqual([0, 0, 0]);
  });
});

const RULES_IN_USE = [
  ["token_k1", "0.5_2.0"],
  ["token_k3", 0.1],
  ["seq_sum_k2", 1],
  ["seq_mean_k1", "0.9_1.2"],
  ["seq_max_k3,token_k2", "2,0.3"],
] as const;

const settings = fc
  .record({
    rollout_is: fc.constantFrom("token" as const, "sequence" as const, null),
    rollout_is_threshold: fc.double({ min: 0.5, max: 10, noNaN: true }),
    rollout_is_batch_normalize: fc.boolean(),
    rule: fc.constantFrom(...RULES_IN_USE, [null, null] as const),
  })
  .map(({ rule: [rollout_rs, rollout_rs_threshold], ...rest }) => ({ ...rest, rollout_rs, rollout_rs_threshold }));

const batches = fc
  .record({ height: fc.integer({ min: 1, max: 5 }), width: fc.integer({ min: 1, max: 6 }) })
  .chain(({ height, width }) => {
    const matrix = <T>(cell: fc.Arbitrary<T>) =>
      fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: height, maxLength: height });
    return fc.record({
      logRatio: matrix(fc.oneof(fc.double({ min: -2, max: 2, noNaN: true }), fc.constantFrom(0, -500, 500))),
      mask: matrix(fc.constantFrom(0, 1)),
    });
  });

describe("laws", () => {
  it("masks only shrink, weights stay within bounds, and metrics are numbers", () => {
    fc.assert(
      fc.property(batches, settings, ({ logRatio, mask }, config) => {
        const result = correct(logRatio, mask, config);
        const before = flat(mask);
        result.response_mask.data.forEach((bit, i) => expect(bit === before[i] || bit === 0).toBe(true));
        const weights = result.rollout_is_weights?.data;
        weights?.forEach((weight, i) => {
          expect(weight).toBeGreaterThanOrEqual(0);
          if (before[i] === 0) expect(weight).toBe(0);
          if (!config.rollout_is_batch_normalize) {
            expect(weight).toBeLessThanOrEqual(Math.fround(config.rollout_is_threshold));
          }
        });
        expect(Object.values(result.metrics).every(Number.isFinite)).toBe(true);
      }),
    );
  });

  it("what stands behind the mask, in rows and columns of padding too, changes nothing", () => {
    fc.assert(
      fc.property(batches, settings, ({ logRatio, mask }, config) => {
        const plain = correct(logRatio, mask, config);
        const width = mask[0]!.length;
        const poisoned: Matrix = logRatio.map((row, i) => [
          ...row.map((value, j) => (mask[i]![j] === 1 ? value : "nan")),
          "inf" as const,
        ]);
        const padded = correct(
          [Array<"nan">(width + 1).fill("nan"), ...poisoned],
          [Array<number>(width + 1).fill(0), ...mask.map((row) => [...row, 0])],
          config,
        );
        const inner = (array: NdArray): number[][] => {
          const [, ...own] = rows(array);
          return own.map((row) => row.slice(0, width));
        };
        expect(inner(padded.response_mask)).toEqual(rows(plain.response_mask));
        expect(padded.metrics).toEqual(plain.metrics);
        expect([...padded.rejected.subarray(1)]).toEqual([...plain.rejected]);
        if (plain.rollout_is_weights) {
          expect(inner(padded.rollout_is_weights!)).toEqual(rows(plain.rollout_is_weights));
        }
      }),
    );
  });

  it("the order of rows is of no account", () => {
    fc.assert(
      fc.property(batches, settings, ({ logRatio, mask }, config) => {
        const forth = correct(logRatio, mask, config);
        const back = correct([...logRatio].reverse(), [...mask].reverse(), config);
        expect(rows(back.response_mask).reverse()).toEqual(rows(forth.response_mask));
        const names = Object.keys(forth.metrics);
        const pick = (metrics: Record<string, number>): number[] => names.map((name) => metrics[name]!);
        pick(forth.metrics).forEach((value, i) => {
          const other = pick(back.metrics)[i]!;
          expect(other === value || Math.abs(other - value) <= 1e-9 * (1 + Math.abs(value))).toBe(true);
        });
      }),
    );
  });

  it("one bound serves all rules", () => {
    fc.assert(
      fc.property(batches, fc.double({ min: 0.01, max: 2, noNaN: true }), ({ logRatio, mask }, bound) => {
        const rollout_rs = "token_k2,seq_mean_k3,seq_max_k2";
        const one = correct(logRatio, mask, { rollout_rs, rollout_rs_threshold: bound });
        const each = correct(logRatio, mask, { rollout_rs, rollout_rs_threshold: [bound, bound, bound].join(",") });
        expect(one).toEqual(each);
      }),
    );
  });

  it("several rules keep what each of them keeps", () => {
    fc.assert(
      fc.property(batches, ({ logRatio, mask }) => {
        const kept = (rollout_rs: string, rollout_rs_threshold: string) =>
          correct(logRatio, mask, { rollout_rs, rollout_rs_threshold }).response_mask.data;
        const [k1, max] = [kept("token_k1", "0.6_3"), kept("seq_max_k2", "0.8")];
        expect(kept("token_k1,seq_max_k2", "0.6_3,0.8")).toEqual(k1.map((bit, i) => bit * max[i]!));
      }),
    );
  });
});

describe("what is given", () => {
  const input = () => ({
    old_log_probs: array([[-1, -2]]),
    rollout_log_probs: array([[-1, -3]]),
    response_mask: new NdArray("int32", [1, 2], Int32Array.of(1, 1)),
  });

  it("is not written, and keeps its type", () => {
    const given = input();
    const { response_mask } = correctRollout(given, { ...OFF, rollout_rs: "token_k2", rollout_rs_threshold: 0.1 });
    expect(response_mask).toEqual(new NdArray("int32", [1, 2], Int32Array.of(1, 0)));
    expect(given).toEqual(input());
    expect(correctRollout(given, OFF).response_mask).toBe(given.response_mask);
  });

  it("may have no tokens at all", () => {
    const given = { ...input(), response_mask: NdArray.zeros("int32", [1, 2]) };
    const config = { ...OFF, rollout_is: "token" as const, rollout_rs: "token_k1", rollout_rs_threshold: 2 };
    const { rollout_is_weights, metrics, rejected } = correctRollout(given, config);
    expect([...rollout_is_weights!.data, ...rejected]).toEqual([0, 0, 0]);
    expect(metrics).toEqual({});
  });

  it("must have one shape and finite log-probs", () => {
    expect(() => correctRollout({ ...input(), rollout_log_probs: array([[-1, -2, -3]]) }, OFF)).toThrow(
      "rollout_log_probs of shape [1, 3] does not fit response_mask of shape [1, 2].",
    );
    expect(() => correctRollout({ ...input(), old_log_probs: array([[-1, "nan"]]) }, OFF)).toThrow(
      "Row 0, token 1: the trainer's log-prob is NaN, the sampler's -3.",
    );
  });
});

describe("rewards of rejected tokens", () => {
  it("move to the kept token before, or to the first one kept", () => {
    const rewards = array([
      [0, 0, 1, 0],
      [2, 0, 0, 5],
      [0, 0, 3, 0],
      [0, 1, 0, 9],
    ]);
    const before = array([
      [1, 1, 1, 0],
      [1, 1, 1, 1],
      [1, 1, 1, 0],
      [1, 1, 0, 0],
    ]);
    const after = array([
      [1, 1, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 0, 0],
      [1, 1, 0, 0],
    ]);
    expect(rows(rewardsOfKeptTokens(rewards, before, after))).toEqual([
      [0, 1, 0, 0],
      [0, 7, 0, 0],
      [0, 0, 3, 0],
      [0, 1, 0, 9],
    ]);
    expect(rewards.data[2]).toBe(1);
  });
});

it.each(Object.entries<RolloutCorrectionPreset>(ROLLOUT_CORRECTION_PRESETS))("the preset %s is valid", (_, preset) => {
  expect(() => correct([[0.1, -0.2]], [[1, 1]], preset)).not.toThrow();
});
