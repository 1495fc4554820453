import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { AdvantageConfig, AdvantageInput } from "../../core/algorithm/index.ts";
import { NdArray } from "../../core/batch/index.ts";
import { registries, resolveOptions } from "../../core/registry/index.ts";
import { advantageEstimators } from "../../plugins/advantage/index.ts";
import { expectClose } from "./vectors.ts";

for (const { key, entry } of advantageEstimators) registries.adv_estimator.register(key, entry);

const matrix = (rows: readonly (readonly number[])[]) =>
  new NdArray("float32", [rows.length, rows[0]?.length ?? 0], Float32Array.from(rows.flat()));

/** Runs an estimator by its key, with options as the config would give them. */
function run(
  key: string,
  input: Partial<AdvantageInput> & Pick<AdvantageInput, "token_level_rewards" | "response_mask">,
  { adv_kwargs, ...config }: Partial<AdvantageConfig> = {},
) {
  const metrics: Record<string, number> = {};
  const output = registries.adv_estimator.resolve(key).compute(
    { uid: new Array<string>(input.response_mask.rows).fill("g"), ...input },
    {
      gamma: 1,
      lam: 1,
      norm_adv_by_std_in_grpo: true,
      adv_kwargs: resolveOptions("adv_estimator", key, adv_kwargs),
      ...config,
    },
    { metric: (name, value) => void (metrics[name] = value) },
  );
  return { advantages: [...output.advantages.data], returns: [...output.returns.data], metrics };
}

/** Rows of one token. */
const scores = (values: readonly number[]) => ({
  token_level_rewards: matrix(values.map((value) => [value])),
  response_mask: matrix(values.map(() => [1])),
});

const KEYS = advantageEstimators.map(({ key }) => key);
const GROUPED = KEYS.filter(
  (key) => registries.adv_estimator.resolve(key).needsGroups && !/token_baseline|gdpo/.test(key),
);
const OUTCOME = GROUPED.filter((key) => key !== "grpo_passk");

/** What each estimator may require, for rows of `width` tokens. */
const extras = (rows: number, width: number): Partial<AdvantageInput> => ({
  values: NdArray.zeros("float32", [rows, width]),
  old_log_probs: new NdArray("float32", [rows, width], new Float32Array(rows * width).fill(-1)),
  sum_pi_squared: new NdArray("float32", [rows, width], new Float32Array(rows * width).fill(0.5)),
  reward_baselines: NdArray.zeros("float32", [rows]),
  accuracy: Array.from({ length: rows }, (_, row) => row % 2),
});
const options = (key: string) => (key === "gdpo" ? { adv_kwargs: { reward_keys: ["accuracy"] } } : {});

describe("reports", () => {
  it("48: lone and equal scores", () => {
    const uid = ["g1", "g2", "g2", "g2", "g2", "g3", "g3", "g3", "g3"];
    const values = [0.3, 1, 1, 1, 1, 1, 0, 0, 0];
    const third = 1 / 3;
    for (const key of ["rloo", "rloo_vectorized"]) {
      const { advantages } = run(key, { ...scores(values), uid });
      expectClose(advantages, [0.3, 0, 0, 0, 0, 1, -third, -third, -third]);
    }
    const { advantages } = run("grpo_vectorized", { ...scores(values), uid });
    expectClose(advantages, [0.2999997, 0, 0, 0, 0, 1.499997, -0.499999, -0.499999, -0.499999]);
  });

  it.each(OUTCOME)("48: equal scores give exactly 0, and a metric says so: %s", (key) => {
    const { advantages, metrics } = run(key, scores(new Array<number>(7).fill(0.1)));
    expect(advantages).toEqual(new Array(7).fill(0));
    expect(metrics["advantage/equal_groups"]).toBe(1);
  });

  it("50: leave-one-out values, and what is refused", () => {
    const expected = [1, 1, 1, 0, 0, 0, 0, 0].map((score) => (score ? 0.714286 : -0.428571));
    expectClose(run("rloo", scores([1, 1, 1, 0, 0, 0, 0, 0])).advantages, expected);
    expectClose(run("rloo", scores([2, 5])).advantages, [-3, 3]);
    expect(() => run("rloo", scores([1, NaN]))).toThrow("The score of row 1 is NaN.");
    expect(() =>
      run("rloo", {
        ...scores([1, 2]),
        response_mask: matrix([
          [1, 1],
          [1, 1],
        ]),
      }),
    ).toThrow(/token_level_rewards is/);
    expect(() => run("rloo", { ...scores([1, 2]), uid: ["a"] })).toThrow("There are 1 uids for 2 rows");
  });

  it("51: no spike where the others are equal", () => {
    const values = [0, ...new Array<number>(7).fill(0.95)];
    for (const key of OUTCOME) {
      for (const advantage of run(key, scores(values)).advantages) expect(Math.abs(advantage)).toBeLessThan(10);
    }
    expectClose([run("rloo", scores(values)).advantages[0]!], [-0.95]);
  });

  it("53: an unscored row takes no part", () => {
    const input = { ...scores([1, NaN, 0, 1]), unscored: Uint8Array.of(0, 1, 0, 0) };
    expectClose(run("grpo_vectorized", input).advantages, [0.577349, 0, -1.154699, 0.577349]);
    expectClose(run("rloo", input).advantages, [0.5, 0, -1, 0.5]);
  });

  it("55: returns go across observation tokens, and only trained tokens count as steps", () => {
    const input = { token_level_rewards: matrix([[0, 0, 0, 0, 0, 1]]), response_mask: matrix([[1, 1, 0, 0, 1, 1]]) };
    expectClose(run("reinforce_plus_plus", input).returns, [1, 1, 0, 0, 1, 1]);
    expectClose(run("reinforce_plus_plus", input, { gamma: 0.9 }).returns, [0.729, 0.81, 0, 0, 0.9, 1]);
  });

  /** GAE before whitening: the returns less the values. */
  const unwhitened = (values: number[], mask: number[], rewards: number[], gamma: number): number[] => {
    const fields = { token_level_rewards: matrix([rewards]), response_mask: matrix([mask]), values: matrix([values]) };
    const { returns } = run("gae", fields, { gamma, lam: 0.95 });
    return returns.map((value, i) => (mask[i] ? value - values[i]! : 0));
  };

  it.each([9, 100, NaN])("56: %d behind the mask is no value", (junk) => {
    expectClose(unwhitened([0, 0, junk], [1, 1, 0], [0, 1, 0], 1), [0.95, 1, 0]);
    const turns = [
      [0.2, 0.3, junk, junk, 0.5],
      [1, 1, 0, 0, 1],
      [0, 0, 0, 0, 1],
    ] as const;
    const [values, mask, rewards] = turns.map((row) => [...row]) as [number[], number[], number[]];
    expectClose(unwhitened(values, mask, rewards, 1), [0.74125, 0.675, 0, 0, 0.5]);
    expectClose(unwhitened(values, mask, rewards, 0.9), [0.563763, 0.5775, 0, 0, 0.5]);
    expectClose(unwhitened([0.2, 0.3, 0.5], [1, 1, 1], [0, 0, 1], 1), [0.74125, 0.675, 0.5]);
  });
});

describe("every estimator", () => {
  const batch = {
    token_level_rewards: matrix([
      [0, 1],
      [0, 0.5],
      [0, 0],
      [0, 2],
    ]),
    response_mask: matrix([
      [1, 1],
      [1, 1],
      [1, 1],
      [1, 1],
    ]),
    uid: ["a", "a", "b", "b"],
    ...extras(4, 2),
  };

  it.each(KEYS)("gives unscored and empty batches 0: %s", (key) => {
    const unscored = { ...batch, unscored: Uint8Array.of(1, 1, 1, 1) };
    expect(run(key, unscored, options(key)).advantages).toEqual(new Array(8).fill(0));
    const empty = { ...batch, response_mask: NdArray.zeros("float32", [4, 2]) };
    expect(run(key, empty, options(key)).advantages).toEqual(new Array(8).fill(0));
  });

  it.each(KEYS)("is not moved by a row that is unscored: %s", (key) => {
    const without = run(key, batch, options(key)).advantages;
    const rows = (field: NdArray<"float32">, last: number[]) =>
      new NdArray("float32", [5, 2], Float32Array.of(...field.data, ...last));
    const more = {
      ...batch,
      ...extras(5, 2),
      token_level_rewards: rows(batch.token_level_rewards, [NaN, 9]),
      response_mask: rows(batch.response_mask, [1, 1]),
      uid: [...batch.uid, "a"],
      unscored: Uint8Array.of(0, 0, 0, 0, 1),
    };
    const result = run(key, more, options(key)).advantages;
    expectClose(result.slice(0, 8), without);
    expect(result.slice(8)).toEqual([0, 0]);
  });

  it.each(KEYS)("does not depend on the order of rows, and leaves its input alone: %s", (key) => {
    const reversed = Object.fromEntries(
      Object.entries(batch).map(([name, field]) => [
        name,
        field instanceof NdArray ? field.gather([3, 2, 1, 0]) : [...(field as unknown[])].reverse(),
      ]),
    ) as unknown as typeof batch;
    const before = [...batch.token_level_rewards.data];
    const forward = matrix([run(key, batch, options(key)).advantages])
      .reshape([4, 2])
      .gather([3, 2, 1, 0]).data;
    expectClose(run(key, reversed, options(key)).advantages, forward);
    expect([...batch.token_level_rewards.data]).toEqual(before);
  });

  it.each(KEYS.filter((key) => key !== "gdpo"))("names a reward that is not finite: %s", (key) => {
    const rewards = matrix([
      [0, 1],
      [0, Infinity],
      [0, 0],
      [0, 2],
    ]);
    expect(() => run(key, { ...batch, token_level_rewards: rewards })).toThrow(/of row 1 is/);
  });

  it.each(KEYS)("reports the metrics that it declares, and no others: %s", (key) => {
    const declared = Object.keys(registries.adv_estimator.resolve(key).metrics ?? {});
    expect(Object.keys(run(key, batch, options(key)).metrics).sort()).toEqual(declared.sort());
  });
});

describe("groups", () => {
  it.each(["rloo", "grpo_vectorized"])("sum to 0: %s", (key) => {
    fc.assert(
      fc.property(
        fc.array(fc.float({ noNaN: true, min: -100, max: 100 }), { minLength: 2, maxLength: 9 }),
        (values) => {
          const sum = run(key, scores(values)).advantages.reduce((total, value) => total + value, 0);
          expect(Math.abs(sum)).toBeLessThan(1e-3);
        },
      ),
    );
  });

  it("of pass@k must have two answers; where failed rewards leave one, it gets 0", () => {
    expect(() => run("grpo_passk", { ...scores([1, 0]), uid: ["a", "b"] })).toThrow('group "a" has 1');
    const left = { ...scores([1, 0]), unscored: Uint8Array.of(0, 1) };
    expect(run("grpo_passk", left).advantages).toEqual([0, 0]);
  });

  it("of pass@k reward the best answer alone, and no one where two are best", () => {
    expectClose(run("grpo_passk", scores([0, 3, 1, 2]), { norm_adv_by_std_in_grpo: false }).advantages, [0, 1, 0, 0]);
    expect(run("grpo_passk", scores([1, 1, 0, 0])).advantages).toEqual([0, 0, 0, 0]);
  });
});

describe("gpg", () => {
  it("scales rare scores up", () => {
    const { advantages, metrics } = run("gpg", scores([1, 0, 0, 0]));
    expectClose(advantages, [3, -1, -1, -1]);
    expect(metrics["advantage/gpg_scale"]).toBe(4);
  });
});

describe("remax", () => {
  it("leaves rows out whose greedy answer has no score", () => {
    const reward_baselines = new NdArray("float32", [2], Float32Array.of(0.25, NaN));
    const { advantages, metrics } = run("remax", { ...scores([1, 1]), reward_baselines });
    expect(advantages).toEqual([0.75, 0]);
    expect(metrics).toEqual({ "advantage/missing_baselines": 0.5 });
  });
});

describe("optimal token baselines", () => {
  const fields = (rows: number[][], mask: number[][]) => ({
    token_level_rewards: matrix(rows),
    response_mask: matrix(mask),
    old_log_probs: matrix(mask.map((row) => row.map(() => Math.log(0.5)))),
    sum_pi_squared: matrix(mask.map((row) => row.map(() => 0.5))),
  });

  it("weigh by importance weights where rollout correction gives them", () => {
    const input = fields([[1], [0]], [[1], [1]]);
    expectClose(run("optimal_token_baseline", input).advantages, [0.5, -0.5]);
    const rollout_is_weights = matrix([[2], [1]]);
    expectClose(run("optimal_token_baseline", { ...input, rollout_is_weights }).advantages, [0.2, -0.8]);
  });

  it("compare columns, or with tools the model's steps", () => {
    const input = fields(
      [
        [0, 0, 1],
        [0, 0, 0],
      ],
      [
        [1, 0, 1],
        [1, 1, 0],
      ],
    );
    expectClose(run("optimal_token_baseline", input).advantages, [0.5, 0, 0, -0.5, 0, 0]);
    expectClose(run("tir_optimal_token_baseline", input).advantages, [0.5, 0, 0.5, -0.5, -0.5, 0]);
  });

  it("have no baseline beyond the second longest answer, if so told", () => {
    const input = fields(
      [
        [0, 0, 1],
        [0, 0, 0],
      ],
      [
        [1, 1, 1],
        [1, 0, 0],
      ],
    );
    expectClose(run("optimal_token_baseline", input).advantages, [0.5, 0, 0, -0.5, 0, 0]);
    const adv_kwargs = { handle_zero_tail: true };
    expectClose(run("optimal_token_baseline", input, { adv_kwargs }).advantages, [0.5, 1, 1, -0.5, 0, 0]);
    expectClose(run("tir_optimal_token_baseline", input).advantages, [0.5, 1, 1, -0.5, 0, 0]);
  });
});

describe("gdpo", () => {
  const input = { ...scores([1, 1, 1, 1]), accuracy: [1, 0, 0, 0], brevity: [100, 100, 0, 0] };
  const reward_keys = ["accuracy", "brevity"];

  it("compares each part by itself and sums with weights", () => {
    const part = (key: "accuracy" | "brevity") => run("grpo", scores(input[key])).advantages;
    const expected = part("accuracy").map((value, row) => 2 * value + 0.5 * part("brevity")[row]!);
    const adv_kwargs = { reward_keys, reward_weights: [2, 0.5] };
    expectClose(run("gdpo", input, { adv_kwargs }).advantages, expected);
  });

  it("whitens over the batch, if so told", () => {
    const { advantages } = run("gdpo", input, { adv_kwargs: { reward_keys, whiten: true } });
    const mean = advantages.reduce((sum, value) => sum + value, 0) / 4;
    const variance = advantages.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 3;
    expectClose([mean, variance], [0, 1]);
  });

  it("leaves rows out that lack a part, and says how many", () => {
    const lacking = { ...input, accuracy: [1, null, 0, 0] };
    const { advantages, metrics } = run("gdpo", lacking, { adv_kwargs: { reward_keys: ["accuracy"] } });
    expectClose(advantages, [1.154699, 0, -0.577349, -0.577349]);
    expect(metrics["advantage/missing_parts"]).toBe(0.25);
  });

  it("refuses a column that holds something else than numbers", () => {
    const adv_kwargs = { reward_keys: ["data_source"] };
    expect(() => run("gdpo", { ...input, data_source: ["a", "a", "b", "b"] }, { adv_kwargs })).toThrow(
      'The column "data_source" holds no numbers: row 0 has a string.',
    );
  });

  it("names the columns that it reads, and refuses weights that do not fit", () => {
    expect(registries.adv_estimator.resolve("gdpo").fieldsOf?.({ reward_keys })).toEqual(reward_keys);
    expect(() => run("gdpo", input, { adv_kwargs: { reward_keys, reward_weights: [1] } })).toThrow(
      "reward_weights has 1 numbers for 2 reward_keys",
    );
    expect(() => run("gdpo", input)).toThrow(/reward_keys/);
    const unchecked = {
      gamma: 1,
      lam: 1,
      norm_adv_by_std_in_grpo: true,
      adv_kwargs: { reward_keys, reward_weights: [1] },
    };
    const { gdpo } = Object.fromEntries(registries.adv_estimator.entries());
    expect(() => gdpo!.compute({ uid: ["a", "a", "b", "b"], ...input }, unchecked, { metric: () => {} })).toThrow(
      "give one weight a key",
    );
  });
});
