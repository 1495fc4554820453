import * as tf from "@tensorflow/tfjs";
import { describe, expect, it } from "@jest/globals";
import { groupRows, NdArray, registerAdvEst, type AdvantageEstimator, type AdvantageInput } from "../../core/index.ts";
import { testAdvEst, type AdvEstCase, type TestRunner } from "../../core/testing/index.ts";
import { collect, failed } from "./collect.ts";

const cases: AdvEstCase[] = [
  {
    name: "two answers, one right",
    input: { token_level_rewards: [[0, 1], [0, 0]], response_mask: [[1, 1], [1, 0]], uid: ["a", "a"] }, // prettier-ignore
    expected: { advantages: [[0.5, 0.5], [-0.5, 0]], metrics: { "advantage/groups": 1 } }, // prettier-ignore
  },
];

interface Steps {
  /** Score of a row. */
  score(input: AdvantageInput, row: number): number;
  /** Advantage of a row with `score` among the scores of its group. */
  compare(score: number, group: readonly number[], input: AdvantageInput, row: number): number;
  metrics(report: (name: string, value: number) => void, groups: number, input: AdvantageInput): void;
  after(input: AdvantageInput): void;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

const honest: Steps = {
  score({ token_level_rewards: rewards, response_mask: mask }, row) {
    const [own, bits] = [rewards.row(row).data, mask.row(row).data];
    return own.reduce((sum, reward, token) => (bits[token] === 0 ? sum : sum + reward), 0);
  },
  compare: (score, group) => score - mean(group),
  metrics: (report, groups) => report("advantage/groups", groups),
  after: () => {},
};

/** An estimator of these steps; the honest ones pass. */
function estimator(changed: Partial<Steps>, meta: Partial<AdvantageEstimator> = {}): AdvantageEstimator {
  const steps = { ...honest, ...changed };
  return {
    description: "Score minus the mean of its group.",
    metrics: { "advantage/groups": "Groups of scored rows." },
    compute(input, _config, ctx) {
      const { rows, rowSize: width, data: mask } = input.response_mask;
      const counted = Array.from({ length: rows }, (_, row) => {
        const tokens = mask.subarray(row * width, (row + 1) * width).some((bit) => bit !== 0);
        return tokens && !input.unscored?.[row] ? 1 : 0;
      });
      const groups = groupRows(input.uid, counted);
      const scores = counted.map((flag, row) => (flag ? steps.score(input, row) : 0));
      const advantages = NdArray.zeros("float32", [rows, width]);
      for (let row = 0; row < rows; row++) {
        if (groups.of[row]! < 0) continue;
        const group = scores.filter((_, other) => groups.of[other] === groups.of[row]);
        const value = steps.compare(scores[row]!, group, input, row);
        advantages.row(row).data.set(Array.from(input.response_mask.row(row).data, (bit) => (bit === 0 ? 0 : value)));
      }
      steps.metrics((name, value) => ctx.metric(name, value), groups.sizes.length, input);
      steps.after(input);
      return { advantages, returns: advantages };
    },
    ...meta,
  };
}

let calls = 0;
const std = (values: readonly number[]): number =>
  Math.sqrt(values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1));

/** One wrong estimator a property. */
const WRONG: Record<string, AdvantageEstimator> = {
  "it describes itself in sentences": estimator({}, { description: "my estimator" }),
  "options are documented and checked": estimator(
    {},
    { optionsSchema: { type: "object", additionalProperties: false, patternProperties: { ".*": {} } } },
  ),
  "results have the right shape and are finite": estimator(
    {},
    {
      compute: ({ response_mask }) => {
        const advantages = NdArray.zeros("float32", [response_mask.rows, 1]).copy();
        return { advantages, returns: new NdArray("float32", [response_mask.rows], advantages.data) };
      },
    },
  ),
  "masked positions are inert": estimator({
    score: ({ token_level_rewards, response_mask }, row) =>
      token_level_rewards.row(row).data.reduce((sum, reward, at) => sum + reward * response_mask.row(row).data[at]!, 0),
  }),
  "the order of rows does not matter": estimator({ compare: (score, _group, _input, row) => score * (row + 1) }),
  "the names of groups do not matter": estimator({ compare: (score, _, { uid }, row) => score + uid[row]!.length }),
  "padding rows change nothing": estimator({ compare: (score, _, { uid }) => score / uid.length }),
  "padding columns change nothing": estimator({
    compare: (score, _, { response_mask }) => score / response_mask.rowSize,
  }),
  "unscored rows take no part and get 0": estimator(
    {},
    { compute: (input, config, ctx) => estimator({}).compute({ ...input, unscored: undefined }, config, ctx) },
  ),
  "groups of one give defined values": estimator({
    compare: (score, group) => (score - mean(group)) / (std(group) + 1e-6),
  }),
  "groups of equal rows give defined values": estimator({
    compare: (score, group) => (group.length === 1 ? score : (score - mean(group)) / std(group)),
  }),
  "a batch without tokens gives zeros": estimator({
    metrics: (report, groups, { uid }) => report("advantage/groups", uid.length / groups),
  }),
  "the same input gives the same bits": estimator({ compare: (score) => score + calls++ }),
  "inputs are not written": estimator({ after: ({ token_level_rewards }) => token_level_rewards.data.fill(7) }),
  "no tensor is left behind": estimator({ after: () => void tf.scalar(1) }),
  "only declared fields and options are read": estimator({ after: (input) => void input["values"] }),
  "metrics are declared": estimator({ metrics: (report) => report("advantage/rows", 1) }),
};

for (const [index, [, entry]] of Object.entries(WRONG).entries()) registerAdvEst(`wrong-${index}`, entry);
registerAdvEst("honest", estimator({}));
registerAdvEst("wide-numbers", {
  ...estimator({}),
  compute(input, config, ctx) {
    const { advantages } = estimator({}).compute(input, config, ctx);
    const integers = new NdArray("int32", advantages.shape, Int32Array.from(advantages.data)) as never;
    return { advantages: integers, returns: integers };
  },
});

describe("testAdvEst", () => {
  it("lets an honest estimator pass, and has a wrong one for each of its properties here", async () => {
    const results = await collect((runner) => testAdvEst("honest", { cases, ...runner }));
    expect(failed(results)).toEqual([]);
    expect(Object.keys(results).sort()).toEqual([...Object.keys(WRONG), `golden case "${cases[0]!.name}"`].sort());
  });

  it.each(Object.keys(WRONG).map((property, index) => [property, `wrong-${index}`]))(
    "tells that a property is broken: %s",
    async (property, key) => {
      const results = await collect((runner) => testAdvEst(key, { cases, ...runner }), [property]);
      expect(results[property]).toContain(`The advantage estimator "${key}" breaks "${property}": `);
    },
  );

  it("refuses results of another type than a run takes", async () => {
    const [property, key] = ["results have the right shape and are finite", "wide-numbers"];
    const results = await collect((runner) => testAdvEst(key, { cases, ...runner }), [property]);
    expect(results[property]).toContain("`advantages` is int32, not float32");
  });

  it("shows the smallest input that fails, a line a field", async () => {
    const [property, key] = ["padding rows change nothing", "wrong-6"];
    const results = await collect((runner) => testAdvEst(key, { cases, ...runner }), [property]);
    expect(results[property]!.split("\n").map((line) => line.trim())).toEqual([
      expect.stringMatching(
        / breaks "padding rows change nothing": with 1 masked row of NaN more, advantages\[\d\]\[0\] is /,
      ),
      "The smallest input that shows it:",
      expect.stringMatching(/^token_level_rewards: \[\[0\.?\d*\], \[/),
      "response_mask: [[1], [1]]",
      'uid: ["g0", "g0"]',
      "gamma: 1",
      "lam: 1",
      "norm_adv_by_std_in_grpo: false",
    ]);
  });

  it("knows no field of an author's own until it is told, and then fills it", async () => {
    registerAdvEst("own-field", {
      ...estimator({ compare: (score, _, input, row) => score * (input["quality"] as NdArray<"float32">).data[row]! }),
      requires: ["quality"],
    });
    const own: AdvEstCase = { ...cases[0]!, input: { ...cases[0]!.input, quality: [2, 0] }, expected: { advantages: [[2, 2], [0, 0]] } }; // prettier-ignore
    const run = (more: object) =>
      collect((runner: TestRunner) => testAdvEst("own-field", { cases: [own], ...more, ...runner }));
    const untold = await run({});
    expect(untold["the order of rows does not matter"]).toContain("requires `quality`");
    expect(failed(await run({ fields: { quality: { per: "row", min: 0, max: 1 } } }))).toEqual([]);
  });
});
