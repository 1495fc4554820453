import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { groupRows, groupStatistics } from "../../core/algorithm/index.ts";
import { NdArray } from "../../core/batch/index.ts";
import { grpo } from "../../plugins/advantage/grpo.ts";
import { reinforcePlusPlusBaseline } from "../../plugins/advantage/reinforce-plus-plus-baseline.ts";
import { rloo } from "../../plugins/advantage/rloo.ts";
import { array, expectClose, flat, vectors, type Matrix } from "./vectors.ts";

const config = (norm: boolean) => ({ gamma: 1, lam: 1, norm_adv_by_std_in_grpo: norm, adv_kwargs: {} });

/** Advantages of rows of one token, with the metrics reported. */
function outcome(scores: number[], uid: string[], norm = true, unscored?: number[]) {
  const metrics: Record<string, number> = {};
  const matrix = (values: number[]) => new NdArray("float32", [scores.length, 1], Float32Array.from(values));
  const { advantages } = grpo.compute(
    {
      token_level_rewards: matrix(scores),
      response_mask: matrix(scores.map(() => 1)),
      uid,
      unscored: unscored && Uint8Array.from(unscored),
    },
    config(norm),
    { metric: (name, value) => void (metrics[name] = value) },
  );
  return { advantages: advantages.data, metrics };
}

interface Case {
  estimator: string;
  style: string;
  inputs: { token_level_rewards: Matrix; response_mask: Matrix; index: string[] };
  config: { norm_adv_by_std_in_grpo: boolean };
  outputs: { advantages: Matrix; returns: Matrix };
}

describe("grpo", () => {
  const cases = vectors<Case>("advantage").filter(({ estimator }) => estimator === "grpo");

  it.each(cases.map((one, i) => [i, one.style, one] as const))(
    "gives the reference's numbers: case %i, %s",
    (_, __, one) => {
      const { token_level_rewards, response_mask, index } = one.inputs;
      const mask = array(response_mask);
      const { advantages, returns } = grpo.compute(
        { token_level_rewards: array(token_level_rewards), response_mask: mask, uid: index },
        config(one.config.norm_adv_by_std_in_grpo),
        { metric: () => {} },
      );
      expectClose(advantages.data, flat(one.outputs.advantages), mask.data);
      expectClose(returns.data, flat(one.outputs.returns), mask.data);
      advantages.data.forEach((value, i) => mask.data[i] === 0 && expect(value).toBe(0));
    },
  );

  it("keeps a lone score, gives equal ones exactly 0, and says how many there were (report 48)", () => {
    const uid = ["g1", "g2", "g2", "g2", "g2", "g3", "g3", "g3", "g3"];
    const { advantages, metrics } = outcome([0.3, 1, 1, 1, 1, 1, 0, 0, 0], uid);
    expectClose(advantages, [0.2999997, 0, 0, 0, 0, 1.499997, -0.499999, -0.499999, -0.499999]);
    expect([...advantages.slice(1, 5)]).toEqual([0, 0, 0, 0]);
    expect(metrics).toEqual({ "advantage/singleton_groups": 1 / 3, "advantage/equal_groups": 1 / 3 });
    expect([...outcome(new Array<number>(7).fill(0.1), new Array<string>(7).fill("g")).advantages]).toEqual(
      new Array(7).fill(0),
    );
  });

  it("leaves unscored rows out of their group (report 53)", () => {
    const uid = ["g", "g", "g", "g"];
    expectClose(outcome([1, NaN, 0, 1], uid, true, [0, 1, 0, 0]).advantages, [0.577349, 0, -1.154699, 0.577349]);
    expect([...outcome([NaN, NaN, NaN, NaN], uid, true, [1, 1, 1, 1]).advantages]).toEqual([0, 0, 0, 0]);
  });

  it.each(Object.entries({ grpo, rloo, reinforcePlusPlusBaseline }))(
    "leaves answers without tokens out of their group: %s",
    (_, estimator) => {
      const compute = (rows: number) => {
        const [rewards, response_mask] = [
          [1, 0, 1, 0],
          [1, 1, 1, 0],
        ].map((data) => new NdArray("float32", [rows, 1], Float32Array.from(data.slice(0, rows)))) as [
          NdArray<"float32">,
          NdArray<"float32">,
        ];
        const input = { token_level_rewards: rewards, response_mask, uid: ["g", "g", "g", "g"].slice(0, rows) };
        return [...estimator.compute(input, config(true), { metric: () => {} }).advantages.data];
      };
      expectClose(compute(4), [...compute(3), 0]);
    },
  );

  it("is Dr. GRPO without the division", () => {
    expectClose(outcome([1, 0, 0, 0], ["g", "g", "g", "g"], false).advantages, [0.75, -0.25, -0.25, -0.25]);
  });

  it("never reads behind the mask", () => {
    const rewards = new NdArray("float32", [2, 2], Float32Array.of(1, NaN, 0, Infinity));
    const response_mask = new NdArray("float32", [2, 2], Float32Array.of(1, 0, 1, 0));
    const { advantages } = grpo.compute(
      { token_level_rewards: rewards, response_mask, uid: ["a", "a"] },
      config(false),
      {
        metric: () => {},
      },
    );
    expect([...advantages.data]).toEqual([0.5, 0, -0.5, 0]);
  });

  it("does not depend on the order of rows, and group means without std are 0", () => {
    const scored = fc.array(fc.tuple(fc.float({ noNaN: true, min: -100, max: 100 }), fc.constantFrom("a", "b", "c")), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(scored, (rows) => {
        const [scores, uid] = [rows.map(([score]) => score), rows.map(([, group]) => group)];
        const forward = outcome(scores, uid).advantages;
        const backward = outcome([...scores].reverse(), [...uid].reverse()).advantages;
        expectClose([...backward].reverse(), forward);
      }),
    );
  });
});

describe("group statistics", () => {
  it("keep their digits at large means and small deviations (report 51)", () => {
    const values = [1e8, 1e8 + 1, 1e8 + 2];
    const { mean, std } = groupStatistics(values, groupRows(["a", "a", "a"]));
    expect(mean[0]).toBe(1e8 + 1);
    expect(std[0]).toBe(1);
    const equal = Float32Array.from({ length: 7 }, () => 0.95);
    expect(groupStatistics(equal, groupRows(new Array<string>(7).fill("a"))).std[0]).toBe(0);
  });

  it("number groups by first appearance and leave rows out", () => {
    const groups = groupRows(["b", "a", "b", "c"], [1, 1, 0, 1]);
    expect([...groups.of]).toEqual([0, 1, -1, 2]);
    expect([...groups.sizes]).toEqual([1, 1, 1]);
  });
});
