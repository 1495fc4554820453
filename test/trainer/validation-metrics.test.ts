import { describe, expect, it } from "@jest/globals";
import { Mt19937 } from "../../core/trainer/metrics/mt19937.ts";
import {
  bootstrap,
  drawIndices,
  nameValidationMetrics,
  processValidationMetrics,
} from "../../core/trainer/metrics/validation-metrics.ts";

describe("Mt19937", () => {
  it("draws what numpy.random.choice draws after seed(42)", () => {
    expect([...drawIndices(4, 2, 3)]).toEqual([2, 3, 0, 2, 2, 3]);
    expect([...drawIndices(5, 1, 6)]).toEqual([3, 4, 2, 4, 4, 1]);
    expect([...drawIndices(7, 1, 6)]).toEqual([6, 3, 4, 6, 2, 4]);
    expect([...drawIndices(1, 3, 2)]).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("shuffles as RandomState(42).shuffle does", () => {
    const range = (n: number) => Array.from({ length: n }, (_, i) => i);
    expect(new Mt19937(42).shuffle(range(5))).toEqual([1, 4, 2, 0, 3]);
    expect(new Mt19937(42).shuffle(range(10))).toEqual([8, 1, 5, 0, 7, 2, 9, 4, 3, 6]);
  });

  it("goes on past its first 624 words", () => {
    // The ten-thousandth output of MT19937 with its standard seed is fixed by the C++ standard.
    const rng = new Mt19937(5489);
    for (let i = 1; i < 10_000; i++) rng.nextU32();
    expect(rng.nextU32()).toBe(4123659995);
  });
});

describe("bootstrap", () => {
  it("equals verl's bootstrap_metric", () => {
    const draws = drawIndices(5, 3, 100, 42);
    const over = (reduce: (values: number[]) => number) =>
      bootstrap(draws, 3, (ids, start, end) => reduce([...ids.subarray(start, end)].map((id) => id + 1)));
    const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
    expect(over(mean)).toEqual({ mean: expect.closeTo(2.9533333, 6), std: expect.closeTo(0.8340264, 6) });
    expect(over((values) => Math.max(...values))).toEqual({
      mean: expect.closeTo(4.11, 6),
      std: expect.closeTo(0.9369632, 6),
    });
    expect(over((values) => Math.min(...values))).toEqual({
      mean: expect.closeTo(1.79, 6),
      std: expect.closeTo(0.9725739, 6),
    });
  });
});

describe("processValidationMetrics", () => {
  const sources = ["s", "s", "s", "s", "s"];
  const uids = ["u", "u", "u", "u", "v"];
  const pred = ["A", "B", "B", "A", "C"];
  const acc = [0, 1, 1, 0, 1];
  const infos = { reward: acc, pred, acc };

  it("equals verl's numbers", () => {
    const reward = Object.fromEntries(processValidationMetrics(sources, uids, infos).get("s")!.get("reward")!);
    const expected = {
      "mean@4": 0.5,
      "std@4": 0.5,
      "best@2/mean": 0.722,
      "best@2/std": 0.4480134,
      "worst@2/mean": 0.262,
      "worst@2/std": 0.4397226,
      "maj@2/mean": 0.478,
      "maj@2/std": 0.4995158,
      "best@4/mean": 0.918,
      "best@4/std": 0.2743647,
      "worst@4/mean": 0.074,
      "worst@4/std": 0.2617709,
      "maj@4/mean": 0.486,
      "maj@4/std": 0.499804,
      "mean@1": 1,
    };
    expect(Object.keys(reward).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, value] of Object.entries(expected))
      expect([name, reward[name]]).toEqual([name, expect.closeTo(value, 6)]);
  });

  it("calls acc core at the greatest n, and everything else auxiliary", () => {
    const named = nameValidationMetrics(processValidationMetrics(sources, uids, infos));
    expect(
      Object.keys(named)
        .filter((name) => name.startsWith("val-core/"))
        .sort(),
    ).toEqual([
      "val-core/s/acc/best@4/mean",
      "val-core/s/acc/best@4/std",
      "val-core/s/acc/maj@4/mean",
      "val-core/s/acc/maj@4/std",
      "val-core/s/acc/mean@4",
    ]);
    expect(named["val-aux/s/reward/mean@4"]).toBe(0.5);
    expect(named["val-aux/s/acc/mean@1"]).toBe(1);
  });

  it("compares the number after @ as a whole: mean@1 is not the core metric beside mean@16", () => {
    const many = Array.from({ length: 17 }, (_, i) => i);
    const named = nameValidationMetrics(
      processValidationMetrics(
        many.map(() => "s"),
        many.map((i) => (i < 16 ? "u" : "v")),
        { reward: many.map((i) => i % 2) },
      ),
    );
    expect(named).toHaveProperty(["val-core/s/reward/mean@16"]);
    expect(named).toHaveProperty(["val-aux/s/reward/mean@1"]);
    expect(named).not.toHaveProperty(["val-core/s/reward/mean@1"]);
  });

  it("takes reward as core where there is no acc, keeps sources apart, and averages over prompts", () => {
    const named = nameValidationMetrics(
      processValidationMetrics(["a", "a", "b"], ["1", "2", "3"], { reward: [1, 0, 0.25] }),
    );
    expect(named).toEqual({ "val-core/a/reward/mean@1": 0.5, "val-core/b/reward/mean@1": 0.25 });
  });

  it("leaves unscored samples out, and passes over variables that are not numbers", () => {
    const result = processValidationMetrics(["s", "s"], ["u", "v"], { reward: [null, 0.5], note: ["x", "y"] });
    expect(nameValidationMetrics(result)).toEqual({ "val-core/s/reward/mean@1": 0.5 });
  });

  it("refuses a variable with a missing value, by name", () => {
    expect(() => processValidationMetrics(["s", "s"], ["u", "v"], { reward: [1] })).toThrow(
      expect.objectContaining({
        code: "VERL_VALIDATION_INFOS",
        message: expect.stringContaining('"reward" has 1 values for 2'),
      }),
    );
  });
});
